import type { Dispatcher } from 'undici';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';
import type { RegistryLogin } from '#shared/oci/pull-secret.ts';
import { askPeer, type PeerAnswer } from '#shared/peers/ask-peer.ts';

/** Means by which registries are asked. */
export interface RegistryMeans {
  readonly clock: Pick<Clock, 'sleep' | 'now'>;
  readonly signal: AbortSignal;
  readonly dispatcher?: Dispatcher | undefined;
  /** Throws for a URL that may not be called; it gets each one before the request. */
  readonly checkUrl: (url: URL) => void;
  /** Registries, as references name them, that are spoken to by plain HTTP. */
  readonly plainHttp: ReadonlySet<string>;
  /** Finds the login for a registry; none = it is asked without. */
  readonly loginFor: (registry: string) => Promise<RegistryLogin | undefined>;
  /** Advice where a login is needed: where one is written. */
  readonly loginAdvice: string;
  /** Field that has the architecture, for messages. */
  readonly archField: string;
  /** Longest time, in milliseconds, that a registry which is too busy is waited for. */
  readonly patienceMs: number;
}

/** Sends one request to a registry, or to the service that gives its tokens. */
export async function askRegistry(
  url: URL,
  headers: Readonly<Record<string, string>>,
  about: string,
  { checkUrl, signal, dispatcher }: Pick<RegistryMeans, 'checkUrl' | 'signal' | 'dispatcher'>,
): Promise<PeerAnswer> {
  try {
    checkUrl(url);
    return await askPeer('registry', url, { who: 'the registry', method: 'GET', headers, signal, dispatcher });
  } catch (cause) {
    if (signal.aborted) throw cause;
    const code = cause instanceof AppError ? cause.code : 'unavailable';
    const situation: Situation = code === 'forbidden' ? 'image_address' : 'image_server';
    throw new AppError(code, `read ${about} (${url.host})`, { cause, situation, subject: about });
  }
}
