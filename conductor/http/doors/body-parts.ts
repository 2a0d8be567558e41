import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { letGo } from '#shared/peers/let-go.ts';

/** Parts of a body as they come. */
export interface BodyParts {
  /** The next part; `undefined` at its end. */
  readonly next: () => Promise<Uint8Array | undefined>;
  /** Copies a part to its place, and lets go of what it took where nobody else reads it. */
  readonly move: (part: Uint8Array, to: Buffer, at: number) => void;
  /** Ends it: nothing of what still comes is kept. */
  readonly end: () => void;
}

/** Connections whose request is read twice, by two readers of a copied stream that share its parts. */
const copied = new WeakSet<IncomingMessage>();

/** Copies a request before anybody has read its body, for another to read it, too. */
export function copyRequest(c: Context): Request {
  const incoming = connectionOf(c);
  if (incoming) copied.add(incoming);
  return c.req.raw.clone();
}

/** The body of a request, from its connection itself where there is one: a stream of the web copies each part once more. */
export function partsOf(c: Context): BodyParts {
  const incoming = connectionOf(c);
  return incoming && !copied.has(incoming) ? partsOfConnection(incoming) : partsOfStream(c.req.raw.body);
}

function connectionOf(c: Context): IncomingMessage | undefined {
  const { incoming } = (c.env ?? {}) as { readonly incoming?: IncomingMessage };
  // others know of a connection its address alone
  return incoming instanceof Readable ? incoming : undefined;
}

function partsOfConnection(incoming: IncomingMessage): BodyParts {
  // the answer is still to be sent on it
  const parts = incoming.iterator({ destroyOnReturn: false });
  return {
    next: async () => {
      const { done, value } = (await parts.next()) as IteratorResult<Buffer, undefined>;
      return done === true ? undefined : value;
    },
    move: (part, to, at) => {
      to.set(part, at);
      letGo(part);
    },
    end: () => void parts.return?.().catch(() => undefined),
  };
}

function partsOfStream(stream: ReadableStream<Uint8Array> | null): BodyParts {
  const reader = stream?.getReader();
  return {
    next: async () => (await reader?.read())?.value,
    move: (part, to, at) => to.set(part, at),
    end: () => void reader?.cancel().catch(() => undefined),
  };
}
