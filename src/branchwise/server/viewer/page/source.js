// Where runs come from: the server that served this page, or the data inside this file.

/** An error reply of the server; `status` 401 asks for a token, 0 means that there was no reply. */
export class SourceError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Runs of the server. */
export class Server {
  one = null;

  async runs() {
    return (await (await this.get("runs")).json()).runs;
  }

  /** The whole event that begins at byte `at` of the trace. */
  async event(id, at) {
    return (await this.get(`runs/${encodeURIComponent(id)}/lines/${at}`)).json();
  }

  /** Calls `take` with each batch of events until the run ends; gives what the last line said. Goes on by itself after a broken connection. */
  async follow(id, take, signal, trouble) {
    let next = 0;
    for (let wait = 500; !signal.aborted; wait = Math.min(8000, wait * 2)) {
      try {
        const reply = await this.get(`runs/${encodeURIComponent(id)}/events?from=${next}`, { signal });
        for await (const line of jsonLines(reply.body)) {
          if (line.events) {
            next = line.next;
            wait = 500;
            trouble("");
            take(line.events);
          } else return line;
        }
      } catch (error) {
        if (signal.aborted) return {};
        const broken = error instanceof TypeError || error instanceof SyntaxError || (error instanceof SourceError && !error.status);
        if (!broken) throw error;
      }
      trouble("The connection was lost. Trying again …");
      await new Promise((done) => setTimeout(done, wait));
    }
    return {};
  }

  async steer(id, act) {
    return this.get(`runs/${encodeURIComponent(id)}/steer`, {
      method: "POST",
      body: JSON.stringify(act),
      headers: { "Content-Type": "application/json" },
    });
  }

  async get(path, options = {}) {
    const token = sessionStorage.getItem("branchwise-token");
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    let reply;
    try {
      reply = await fetch(path, { ...options, headers, credentials: "omit" });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new SourceError(0, "The server does not answer.");
    }
    if (!reply.ok) {
      const body = await reply.json().catch(() => ({}));
      throw new SourceError(reply.status, String(body?.error?.message ?? `The server replied ${reply.status}.`));
    }
    return reply;
  }
}

async function* jsonLines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = value.split("\n");
    for (const part of parts.slice(0, -1)) {
      rest.push(part);
      yield JSON.parse(rest.join(""));
      rest = [];
    }
    if (parts.at(-1)) rest.push(parts.at(-1));
  }
}

/** The one run that this file carries. */
export class Inside {
  constructor(data) {
    this.one = data.name;
    const texts = data.texts;
    this.events = data.events.map((event) => restored(event, texts));
    this.places = new Map(this.events.map((event) => [event.at, event]));
  }

  async runs() {
    return [];
  }

  async event(_, at) {
    return this.places.get(at);
  }

  async follow(_, take) {
    take(this.events);
    return { end: true };
  }
}

function restored(value, texts) {
  if (Array.isArray(value)) return value.map((item) => restored(item, texts));
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === "$") return texts[value.$];
  return Object.fromEntries(keys.map((key) => [key, restored(value[key], texts)]));
}
