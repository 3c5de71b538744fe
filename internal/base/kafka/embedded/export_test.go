package embedded

// ApplyRetention runs what a broker does in the background.
func (b *Broker) ApplyRetention() { b.cluster.ApplyRetention() }
