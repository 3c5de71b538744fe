package serve

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// bounded is a listener with a greatest number of connections. It answers and closes any more.
type bounded struct {
	net.Listener
	room    chan struct{}
	refused func()
}

// sendBytes is about how much the system keeps of an answer for a client that does not read it: by
// itself it would keep megabytes.
const sendBytes = 128 << 10

func newBounded(l net.Listener, clients int, refused func()) *bounded {
	return &bounded{Listener: l, room: make(chan struct{}, clients), refused: refused}
}

// fullAnswer is what a client has for an answer for which there is no room.
func fullAnswer() []byte {
	const text = `{"error":"too many clients at once: ask again in some seconds"}` + "\n"
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: "+
		"no-store\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.room <- struct{}{}:
			if tcp, ok := c.(*net.TCPConn); ok {
				tcp.SetWriteBuffer(sendBytes) //nolint:errcheck // without it the system's own limit applies
			}
			return &client{Conn: c, leave: sync.OnceFunc(func() { <-b.room })}, nil
		default:
			b.refused()
			refuse(c)
		}
	}
}

// refuse answers whatever is asked. It takes some milliseconds at most: nothing else is accepted
// meanwhile.
func refuse(c net.Conn) {
	defer c.Close()
	const patience = 5 * time.Millisecond
	if c.SetReadDeadline(time.Now().Add(patience)) != nil {
		return
	}
	// Received bytes are read first: closing a connection with unread bytes drops the answer.
	c.Read(make([]byte, 4096)) //nolint:errcheck // whatever it was, the answer is the same
	if c.SetWriteDeadline(time.Now().Add(patience)) != nil {
		return
	}
	c.Write(fullAnswer()) //nolint:errcheck // there is nothing else to be done for it
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite() //nolint:errcheck // it is closed next
	}
}

// client is a connection that gives its room back.
type client struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *client) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
