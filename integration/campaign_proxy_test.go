package integration

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// proxy is a TCP proxy in front of a broker that simulates a network that is frozen, slow, cut or
// down.
type proxy struct {
	addr string

	mu       sync.Mutex
	changed  *sync.Cond
	target   string
	listener net.Listener
	conns    map[net.Conn]bool
	frozen   bool
	latency  time.Duration // delay of every piece
	rate     int           // bytes per second over all connections in both directions; 0: no limit
	free     time.Time     // when the slow network has sent its data
}

// startProxy starts a proxy, which ends with the test.
func startProxy(t testing.TB) *proxy {
	t.Helper()
	p := &proxy{conns: map[net.Conn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	p.addr = "127.0.0.1:0"
	must.Succeed(t, p.up())
	p.addr = p.listener.Addr().String()
	t.Cleanup(func() {
		p.heal()
		p.down()
	})
	return p
}

// to sets the address for new connections.
func (p *proxy) to(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

func (p *proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pass(client, server) })
	both.Go(func() { p.pass(server, client) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// pass copies one direction of a connection. When it ends, so does the other.
func (p *proxy) pass(from, to net.Conn) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
	}()
	piece := make([]byte, 16<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			p.delay(n)
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// delay waits as long as the network needs for n bytes.
func (p *proxy) delay(n int) {
	p.mu.Lock()
	for p.frozen {
		p.changed.Wait()
	}
	now := time.Now()
	until := now.Add(p.latency)
	if p.rate > 0 {
		if p.free.Before(now) {
			p.free = now
		}
		p.free = p.free.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
		until = p.free.Add(p.latency)
	}
	p.mu.Unlock()
	if until.After(now) {
		time.Sleep(until.Sub(now))
	}
}

func (p *proxy) freeze() { p.set(true, 0, 0) }

// slow adds latency to every piece and limits the rate, in bytes per second.
func (p *proxy) slow(latency time.Duration, rate int) { p.set(false, latency, rate) }

// heal restores a good network.
func (p *proxy) heal() { p.set(false, 0, 0) }

func (p *proxy) set(frozen bool, latency time.Duration, rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.latency, p.rate = frozen, latency, rate
	p.changed.Broadcast()
}

// cut closes all connections, and accepts new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// down closes all connections and refuses new ones.
func (p *proxy) down() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.cut()
}

// up accepts connections.
func (p *proxy) up() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	go p.accept(l)
	return nil
}
