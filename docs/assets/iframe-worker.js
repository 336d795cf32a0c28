// Browsers start no workers in pages that are opened from a folder, and the search needs one. So it
// runs in a hidden frame there, behind the same messages.
"use strict";

class FrameWorker extends EventTarget {
  onmessage = null;

  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    this.inside = this.frame.contentWindow;
    window.addEventListener("message", (event) => {
      if (event.source !== this.inside) return;
      this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      if (this.onmessage) this.onmessage(event);
    });
    this.fill(url);
    // After that: opening a page takes away whoever listens to its window.
    this.ready = new Promise((loaded) => { this.inside.onload = loaded; });
  }

  // What a worker has and a window has not: a way out, and scripts one after the other.
  fill(url) {
    const page = this.inside.document;
    page.open();
    page.write(`<body><script>
      postMessage = (message) => parent.postMessage(message, "*");
      importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((loaded) => {
        const script = document.createElement("script");
        script.src = url;
        script.onload = loaded;
        document.body.append(script);
      })), Promise.resolve());
    <\/script><script src="${url}"><\/script></body>`);
    page.close();
  }

  postMessage(message) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data: message })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
