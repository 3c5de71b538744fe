package embedded

// ApplyRetention deletes old records, as a broker does in the background.
func (b *Broker) ApplyRetention() { b.cluster.ApplyRetention() }
