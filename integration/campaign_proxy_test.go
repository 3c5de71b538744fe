package integration

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// proxy is on loopback in front of a broker and simulates network faults: frozen, slow, cut, or not
// listening.
type proxy struct {
	addr string

	mu       sync.Mutex
	changed  *sync.Cond
	target   string
	listener net.Listener
	conns    map[net.Conn]bool
	frozen   bool
	latency  time.Duration // delay of every piece that is passed on
	rate     int           // bytes a second over all connections, both ways; 0: no limit
	free     time.Time     // when the slow line has sent its data
}

// startProxy listens, and forwards to the address to.
func startProxy(t testing.TB) *proxy {
	t.Helper()
	p := &proxy{conns: map[net.Conn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))
	p.addr = l.Addr().String()
	p.listener = l
	go p.accept(l)
	t.Cleanup(func() {
		p.heal()
		p.down()
	})
	return p
}

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

// pass hands on one direction. When it ends so does the other.
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

// delay holds up n bytes according to the state of the network.
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
		time.Sleep(until.Sub(now)) // the slow network itself
	}
}

func (p *proxy) freeze() { p.set(true, 0, 0) }

// slow adds latency to every piece and lets rate bytes pass in a second.
func (p *proxy) slow(latency time.Duration, rate int) { p.set(false, latency, rate) }

// heal makes it a good network again.
func (p *proxy) heal() { p.set(false, 0, 0) }

func (p *proxy) set(frozen bool, latency time.Duration, rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.latency, p.rate = frozen, latency, rate
	p.changed.Broadcast()
}

// cut closes all connections; new ones are taken.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// down refuses connections, as a port does on which no process listens.
func (p *proxy) down() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.cut()
}

// up listens again.
func (p *proxy) up() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("listening again: %w", err)
	}
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	go p.accept(l)
	return nil
}
