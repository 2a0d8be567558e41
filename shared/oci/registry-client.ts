import { createHash } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';
import { askRegistry, type RegistryMeans } from '#shared/oci/ask-registry.ts';
import { authorize } from '#shared/oci/authorize.ts';
import { manifestTypes, type OciDocument, parseOciDocument } from '#shared/oci/documents.ts';
import type { RegistryLogin } from '#shared/oci/pull-secret.ts';
import { apiHostOf, type OciReference, showOciReference } from '#shared/oci/reference.ts';
import type { PeerAnswer } from '#shared/peers/ask-peer.ts';
import { backOffMs } from '#shared/retry.ts';
import { retryAfterMs } from '#shared/retry-after.ts';

/** A repository of a registry, with the authorization that has opened it so far. */
export interface Repository {
  /** @throws AppError as `readDocument` */
  readonly read: (which: Pick<OciReference, 'tag' | 'digest'>) => Promise<ReadDocument>;
  /** Returns the URL of a file. */
  readonly blobUrl: (digest: string) => string;
  /** Returns the Authorization header that opened the last document; `undefined` = none was asked for. */
  readonly authorization: () => string | undefined;
}

export interface ReadDocument {
  /** Digest of the bytes that came. */
  readonly digest: string;
  readonly document: OciDocument;
}

const mostRedirects = 3;
const mostTries = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Opens a repository by the distribution specification (opencontainers/distribution-spec, "Pull"), to read it: by GET
 * alone, as some registries answer no HEAD.
 */
export function openRepository(reference: OciReference, means: RegistryMeans): Repository {
  const scheme = means.plainHttp.has(reference.registry) ? 'http' : 'https';
  const base = `${scheme}://${apiHostOf(reference.registry)}/v2/${reference.repository}`;
  const { registry, repository } = reference;
  let login: RegistryLogin | undefined;
  let authorization: string | undefined;
  return {
    blobUrl: (digest) => `${base}/blobs/${digest}`,
    authorization: () => authorization,
    read: async (which) => {
      const about = showOciReference({ registry, repository, ...which });
      const url = new URL(`${base}/manifests/${which.digest ?? which.tag}`);
      const ask = (): Promise<PeerAnswer> => askPatiently(url, authorization, about, means);
      let answer = await ask();
      if (answer.status === 401) {
        login = await means.loginFor(registry);
        authorization = await authorize(answer, { repository, about, scheme }, login, means);
        answer = await ask();
      }
      if (answer.status === 401 || answer.status === 403) {
        throw denied(about, answer.status, login !== undefined, means);
      }
      return readDocument(answer, which, about);
    },
  };
}

/** @throws AppError `image_error` for another answer than the document that was asked for. */
function readDocument(answer: PeerAnswer, which: Pick<OciReference, 'digest'>, about: string): ReadDocument {
  const { status } = answer;
  if (status === 404) throw refused(about, 'image_missing', 'the registry has no such image');
  if (status !== 200) throw refused(about, 'image_unusable', `the registry answered ${status}`);
  const text = answer.text();
  const algorithm = which.digest?.startsWith('sha512:') ? 'sha512' : 'sha256';
  const digest = `${algorithm}:${createHash(algorithm).update(text, 'utf8').digest('hex')}`;
  if (which.digest !== undefined && which.digest !== digest) {
    throw refused(about, 'image_checksum', 'the registry sent a manifest that does not have this digest');
  }
  const said = oneHeader(answer, 'docker-content-digest');
  if (said !== undefined && said.startsWith(`${algorithm}:`) && said !== digest) {
    throw refused(about, 'image_checksum', `the registry says that its manifest is ${said}, and sent another`);
  }
  return { digest, document: parseOciDocument(answer.body, about) };
}

/** Asks again while the registry is too busy, after the time that it names, as long as `patienceMs` allows. */
async function askPatiently(
  url: URL,
  authorization: string | undefined,
  about: string,
  means: RegistryMeans,
): Promise<PeerAnswer> {
  let waited = 0;
  for (let tries = 1; ; tries += 1) {
    const answer = await askFollowing(url, authorization, about, means);
    if (answer.status !== 429 && answer.status < 500) return answer;
    const waitMs =
      retryAfterMs(oneHeader(answer, 'retry-after'), means.clock.now()) ?? backOffMs({ firstMs: 1000 }, tries);
    waited += waitMs;
    if (tries === mostTries || waited > means.patienceMs) {
      const when = answer.status === 429 ? `: it takes no more requests for ${Math.ceil(waitMs / 1000)} s` : '';
      throw new AppError('unavailable', `read ${about}: the registry answered ${answer.status}${when}`, {
        situation: 'image_server',
        subject: about,
      });
    }
    await means.clock.sleep(waitMs, means.signal);
  }
}

function oneHeader({ headers }: Pick<PeerAnswer, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Follows redirects, without the authorization once the origin is another. */
async function askFollowing(
  url: URL,
  authorization: string | undefined,
  about: string,
  means: RegistryMeans,
): Promise<PeerAnswer> {
  let target = url;
  for (let hop = 0; hop <= mostRedirects; hop += 1) {
    const shows = authorization !== undefined && target.origin === url.origin;
    const headers = { accept: manifestTypes.join(', '), ...(shows ? { authorization } : {}) };
    const answer = await askRegistry(target, headers, about, means);
    const location = oneHeader(answer, 'location');
    if (!redirects.has(answer.status) || location === undefined) return answer;
    const next = URL.parse(location, target.href);
    const isDowngrade = target.protocol === 'https:' && next?.protocol !== 'https:';
    if (!next || isDowngrade)
      throw refused(about, 'image_unusable', 'the registry redirects to what is no https:// URL');
    target = next;
  }
  throw refused(about, 'image_unusable', `the registry redirects more than ${mostRedirects} times`);
}

function denied(about: string, status: number, showed: boolean, { loginAdvice }: RegistryMeans): AppError {
  const why = showed
    ? 'with the login that it was shown: it is wrong, or may not read this image'
    : `without a login, or has no such image: ${loginAdvice}`;
  return refused(about, 'image_denied', `the registry answers ${status} ${why}`);
}

function refused(about: string, situation: Situation, what: string): AppError {
  return new AppError('image_error', `${about}: ${what}`, { situation, subject: about });
}
