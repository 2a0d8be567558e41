import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { AgentConfig } from '#agent/config.ts';
import { createPeers } from '#agent/image/neighbours/peers.ts';
import { serveChunks } from '#agent/image/neighbours/serve-chunks.ts';
import type { Offer, Peers, Share } from '#agent/image-means/image-share.ts';
import { type RunningServer, startServer } from '#agent/serve/server.ts';
import type { ServerCertificate } from '#agent/tls.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, isRetryable } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { type NeighboursAnswer, type NeighboursRequest, openTicket } from '#shared/wire/neighbours.ts';

export interface Sharing {
  /** Begins at once, without a neighbour; ends the share before. @param image the checksum of its index */
  readonly share: (image: string) => Share;
  /** Ends it all. */
  close(): Promise<void>;
}

export interface SharingOptions {
  /** Asks the conductor. @throws AppError: retryable where it could not be asked, else as it refused */
  readonly ask: (request: Omit<NeighboursRequest, 'agent_token'>) => Promise<NeighboursAnswer>;
  readonly certificate: ServerCertificate & AgentConfig['tls'];
  readonly host: string;
  /** To serve on, so that a firewall can let it through; any other where it is taken. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const lingerMs = 300_000;
const askAgainMs = 5000;
const greetEveryMs = 500;
/** A neighbour uses eight connections at most, some more while old ones end. */
const connections = { ofAddress: 64, all: 256, headersMs: 10_000 };

/** Serves chunks on a port of its own, open while an image is shared, and keeps asking the conductor who else is there. */
export function createSharing(options: SharingOptions): Sharing {
  const state: { current: OpenShare | undefined } = { current: undefined };
  const closings = new Set<Promise<void>>();
  const end = (): void => {
    const closing = state.current?.close();
    state.current = undefined;
    if (!closing) return;
    closings.add(closing);
    void closing.finally(() => closings.delete(closing));
  };
  options.signal.addEventListener('abort', end, { once: true });
  return {
    share: (image) => {
      end();
      const opened = openShare(image, options);
      state.current = opened;
      return opened.share;
    },
    close: async () => {
      end();
      await Promise.all(closings);
    },
  };
}

interface OpenShare {
  readonly share: Share;
  close(): Promise<void>;
}

/** State of a share, which changes. */
interface ShareState {
  self: string;
  ticket: string | undefined;
  group: string | undefined;
  key: KeyObject | undefined;
  offer: Pick<Offer, 'done' | 'find'> | undefined;
  lingersUntil: number;
}

function openShare(image: string, options: SharingOptions): OpenShare {
  const { clock, log } = options;
  const ended = new AbortController();
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const state: ShareState = {
    self: '',
    ticket: undefined,
    group: undefined,
    key: undefined,
    offer: undefined,
    lingersUntil: Infinity,
  };
  const peers = createPeers({
    self: () => state.self,
    ticket: () => state.ticket,
    clock,
    log,
    onChange: changed,
  });
  const serving = serve(image, options, { state, peers, changed, ended });
  return {
    share: {
      self: () => state.self,
      peers,
      offer: (what) => {
        state.offer = what;
      },
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      linger: () => {
        state.lingersUntil = clock.now().getTime() + lingerMs;
      },
      end: () => ended.abort(),
    },
    close: async () => {
      ended.abort();
      await serving;
    },
  };
}

interface Serving {
  readonly state: ShareState;
  readonly peers: Peers;
  readonly changed: () => void;
  readonly ended: AbortController;
}

/** Serves, greets and asks the conductor until the share ends; never throws: nothing depends on it. */
async function serve(image: string, options: SharingOptions, serving: Serving): Promise<void> {
  const { clock, log, certificate } = options;
  const { state, peers, ended } = serving;
  const offer: Offer = {
    group: () => state.group,
    publicKey: () => state.key,
    done: () => state.offer?.done() ?? 0,
    find: async (...asked) => state.offer?.find(...asked),
    meet: (ticket) => peers.meet(ticket),
  };
  const app = serveChunks(() => (ended.signal.aborted || !state.offer ? undefined : offer), clock);
  const greetOn = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(greetEveryMs, ended.signal);
      if (state.lingersUntil === Infinity) await peers.greet();
    }
  };
  let server: RunningServer | undefined;
  try {
    const listen = (port: number): Promise<RunningServer> =>
      startServer(app, { host: options.host, port }, certificate, connections);
    // the share before may not have left it yet
    server = await listen(options.port).catch(() => listen(0));
    greetOn().catch(() => undefined); // ends with the share
    await askOn(image, server.port, options, serving);
  } catch (error) {
    if (!ended.signal.aborted) log.info({ err: error }, 'there are no neighbours for this image');
  } finally {
    ended.abort();
    peers.close();
    await server?.close();
  }
}

/** Keeps asking the conductor who is there, until the image need not be offered any more. */
async function askOn(
  image: string,
  port: number,
  { ask, clock, log, certificate }: SharingOptions,
  serving: Serving,
): Promise<void> {
  const { state, ended } = serving;
  const shown = new X509Certificate(certificate.certificatePem).raw;
  const certificateSha256 = createHash('sha256').update(shown).digest('hex');
  for (;;) {
    let waitMs = askAgainMs;
    try {
      const answer = await ask({ image, port, certificate_sha256: certificateSha256 });
      learn(serving, answer, clock);
      waitMs = answer.next_ms;
    } catch (error) {
      if (!isRetryable(error)) throw error;
      log.debug({ err: error }, 'the conductor does not list neighbours now');
    }
    await clock.sleep(Math.min(waitMs, state.lingersUntil - clock.now().getTime()), ended.signal);
    if (clock.now().getTime() >= state.lingersUntil) return;
  }
}

function learn(
  { state, peers, changed }: Serving,
  { ticket, public_key: pem, neighbours }: NeighboursAnswer,
  clock: Clock,
): void {
  const key = createPublicKey(pem);
  const claims = openTicket(ticket, key, clock.now());
  if (!claims)
    throw new AppError('agent_error', "the conductor's ticket can't be used: is this machine's clock wrong?");
  Object.assign(state, { self: claims.id, ticket, group: claims.group, key });
  for (const neighbour of neighbours) peers.add(neighbour);
  changed();
}
