package kafkalog

import "context"

// FirstTime returns the least timestamp (unix ms) of the first records of a topic's partitions; a
// timestamp before 1970 counts as 0. found is false if no partition has a committed record. Later
// records may be older. Errors: ErrUnknownTopic if the cluster does not have the topic.
func (c *Client) FirstTime(ctx context.Context, topic string) (millis int64, found bool, err error) {
	partitions, err := c.Partitions(ctx, topic)
	if err != nil {
		return 0, false, err
	}
	for _, p := range partitions {
		bounds, err := c.Offsets(ctx, topic, p)
		if err != nil {
			return 0, false, err
		}
		err = c.ReadRange(ctx, topic, p, bounds.Start, bounds.LastStable, func(r Record) error {
			if at := max(r.Timestamp, 0); !found || at < millis {
				millis, found = at, true
			}
			return StopReading
		})
		if err != nil {
			return 0, false, err
		}
	}
	return millis, found, nil
}
