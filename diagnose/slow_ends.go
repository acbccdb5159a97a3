package diagnose

import "fmt"

// slowReceiver: the sender waits for the receiver's window, and what fills the
// receiver's buffer is data that its application has not read.
func slowReceiver(v *view) *Finding {
	held := max(v.rwnd, v.windowFull())
	if held < 0.5 || v.unread() <= 0.5 {
		return nil
	}
	f := &Finding{
		Cause:      SlowReceiver,
		Confidence: confidence(count(v.rwnd > 0.5, v.unread() > 0.7), 0),
		Says: fmt.Sprintf("The sender waits for the receiver, and the receiver's buffer is full of data that its application has not read. The application reads %v: no buffer makes it faster.",
			v.goodput),
		Action: "look at what the receiving application does with the data (disk, CPU, a slower hop of its own)",
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.addShare("rwnd_limited", v.rwnd, "of the time the sender was held back by the receiver's window, by the kernel's clock")
	f.addShare("unread", v.unread(), "of what the receiver can hold was waiting for its application")
	return v.predict(f)
}

// slowSender: for more than a tenth of the time there was nothing to send.
func slowSender(v *view) *Finding {
	if len(v.senders) == 0 || v.senders[0].elapsed() <= 0 || v.busy >= 0.9 {
		return nil
	}
	f := &Finding{
		Cause:      SlowSender,
		Confidence: confidence(1, 0),
		Says: fmt.Sprintf("The sending application leaves the connection empty for %.2g %% of the time. Whatever it waits for (disk, CPU, an answer) limits it to %v.",
			100*(1-v.busy), v.goodput),
		Action: "look at what the sending application waits for; no TCP setting makes it faster",
		weight: 1 - v.busy,
	}
	f.addGoodput(v)
	f.addShare("busy", v.busy, "of the time there was data to send or to be acknowledged")
	return v.predict(f)
}
