// Browsers refuse workers to pages that are opened from the disk, and the site's search is one.
// There, a hidden frame runs it instead. The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.postMessage = (data) =>
        this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
      const script = inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((done) => (script.onload = done));
      inside.document.body.append(script);
    }
  };
}
