package report

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/version"
)

// IPerf3Document is the part of iperf3's -J document that its consumers read
// most, with the whole transfer under "fullbore".
type IPerf3Document struct {
	Start    iperf3Start  `json:"start"`
	End      iperf3End    `json:"end"`
	Error    string       `json:"error,omitempty"`
	FullBore *bulk.Result `json:"fullbore"`
}

type iperf3Start struct {
	Connected []iperf3Connection `json:"connected"`
	Version   string             `json:"version"`
	Timestamp struct {
		Time     string `json:"time"`
		TimeSecs int64  `json:"timesecs"`
	} `json:"timestamp"`
	ConnectingTo struct {
		Host string `json:"host"`
	} `json:"connecting_to"`
	TestStart struct {
		Protocol   string  `json:"protocol"`
		NumStreams int     `json:"num_streams"`
		BlkSize    int     `json:"blksize"`
		Omit       float64 `json:"omit"`
		Duration   float64 `json:"duration"`
		Bytes      int64   `json:"bytes"`
		Reverse    int     `json:"reverse"`
		Bidir      int     `json:"bidir"`
	} `json:"test_start"`
}

type iperf3Connection struct {
	Socket int    `json:"socket"`
	Local  string `json:"local"`
	Remote string `json:"remote"`
}

type iperf3End struct {
	SumSent            iperf3Sum  `json:"sum_sent"`
	SumReceived        iperf3Sum  `json:"sum_received"`
	SumSentReverse     *iperf3Sum `json:"sum_sent_bidir_reverse,omitempty"`
	SumReceivedReverse *iperf3Sum `json:"sum_received_bidir_reverse,omitempty"`
	SenderCongestion   string     `json:"sender_tcp_congestion,omitempty"`
}

type iperf3Sum struct {
	Start         float64 `json:"start"`
	End           float64 `json:"end"`
	Seconds       float64 `json:"seconds"`
	Bytes         int64   `json:"bytes"`
	BitsPerSecond float64 `json:"bits_per_second"`
	Retransmits   int64   `json:"retransmits,omitempty"`
	Sender        bool    `json:"sender"`
}

// IPerf3 writes a transfer as iperf3 does, for programs that read its JSON.
func IPerf3(r *bulk.Result, target string, began time.Time, failed error) *IPerf3Document {
	doc := &IPerf3Document{FullBore: r}
	doc.Start.Version = "fullbore " + version.String()
	doc.Start.Timestamp.Time = began.UTC().Format(time.RFC1123)
	doc.Start.Timestamp.TimeSecs = began.Unix()
	doc.Start.ConnectingTo.Host = target
	for _, s := range r.Client.Streams {
		doc.Start.Connected = append(doc.Start.Connected, iperf3Connection{s.ID, s.Local, s.Remote})
	}
	start := &doc.Start.TestStart
	start.Protocol, start.NumStreams, start.BlkSize = "TCP", r.Spec.Streams, r.Spec.Length
	if start.BlkSize == 0 {
		start.BlkSize = bulk.DefaultLength
	}
	start.Omit, start.Duration, start.Bytes = r.Spec.Omit.Seconds(), r.Spec.Duration.Seconds(), r.Spec.Bytes
	if failed != nil {
		doc.Error = failed.Error()
	}
	main := r.Spec.Direction
	switch main {
	case bulk.Reverse:
		start.Reverse = 1
	case bulk.Both:
		start.Bidir, main = 1, bulk.Forward
		doc.End.SumSentReverse, doc.End.SumReceivedReverse = sum(r.Senders(bulk.Reverse), true), sum(r.Receivers(bulk.Reverse), false)
	}
	doc.End.SumSent, doc.End.SumReceived = *sum(r.Senders(main), true), *sum(r.Receivers(main), false)
	if senders := r.Senders(main); len(senders) > 0 {
		doc.End.SenderCongestion = senders[0].Congestion
	}
	return doc
}

// sum adds up streams of one direction as one end saw them. The retransmissions
// are those of the measured time.
func sum(streams []bulk.Stream, sender bool) *iperf3Sum {
	s := &iperf3Sum{Sender: sender}
	for _, stream := range streams {
		s.Bytes += stream.Bytes
		s.Seconds = max(s.Seconds, stream.Elapsed.Seconds())
		for i, sample := range stream.Samples {
			if sample.Omitted || !sender {
				continue
			}
			s.Retransmits += int64(stream.Samples[len(stream.Samples)-1].TCP.TotalRetrans - stream.Samples[max(0, i-1)].TCP.TotalRetrans)
			break
		}
	}
	s.End = s.Seconds
	if s.Seconds > 0 {
		s.BitsPerSecond = float64(s.Bytes) * 8 / s.Seconds
	}
	return s
}
