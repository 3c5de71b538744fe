// A document is drawn by whoever wrote it: only the colours change.

shell(() => {}, false);
