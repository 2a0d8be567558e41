import type { PlanDestroys } from '#conductor/flows/plan/plan-destroys.ts';
import { describePeerEnd } from '#conductor/model/certificate-end.ts';
import { type PlanFacts, type PlannedStep, stepKey } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { ResolvedImage } from '#shared/oci/resolve-image.ts';
import { askPeerForHeaders, type PeerRequest } from '#shared/peers/ask-peer.ts';
import { checkOutboundUrl, type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';
import { findPeerCertificate } from '#shared/peers/peer-certificates.ts';
import { showUrl } from '#shared/peers/show-url.ts';

/** A plan does not wait for web servers. Milliseconds. */
const lookMs = 5000;
/** Plans of a whole fleet share a look, also at a server that does not answer. Milliseconds. */
const keptMs = 60_000;
const mostKept = 200;

/** The answer of a web server to a question about a file. */
export interface FileLook {
  readonly status: number;
  readonly type: string | undefined;
  /** Bytes of the file as it stands there; `undefined` = the server does not say. */
  readonly bytes: number | undefined;
}

interface Wanted {
  readonly steps: readonly PlannedStep[];
  readonly destroys: Pick<PlanDestroys, 'disks'>;
  readonly instanceInfo: JsonObject;
  readonly facts?: Pick<PlanFacts, 'isFake'>;
  /** The image as its registry has described it, where it is in one. */
  readonly image?: Pick<ResolvedImage, 'pinned' | 'size' | 'format'> | undefined;
}

interface KeptLook {
  readonly at: number;
  readonly look: Promise<FileLook>;
}
/** Looks of the last minute by URL, the oldest first; of each conductor's rules its own. */
const kept = new WeakMap<OutboundRules, Map<string, KeptLook>>();

/**
 * Asks for image and checksum file, as the machine will, and describes what is wrong with them. It is no refusal: the
 * machine fetches them itself, from a network where another server may answer.
 * @param project of the caller: one who is bound to it gives URLs, and must not learn by the answers what is in the
 * conductor's networks; a look is taken for them only where an allow list says what may be fetched
 * @param now milliseconds, on any clock that goes forward
 * @returns a sentence each; none where all is well, where nothing is written, or where the server can't be understood
 */
export async function lookAtImage(
  { steps, destroys, instanceInfo, facts, image }: Wanted,
  rules: OutboundRules,
  {
    project,
    now = performance.now(),
    date = new Date(),
  }: { readonly project?: string | undefined; readonly now?: number; readonly date?: Date } = {},
): Promise<string[]> {
  if (facts?.isFake || !steps.some((step) => stepKey(step) === 'deploy.write_image')) return [];
  const { image_source: source, image_checksum: checksum, image_os_hash_value: hash } = instanceInfo;
  const room = roomFor(destroys);
  if (image) {
    const look = { status: 200, type: undefined, bytes: image.size };
    // what else than raw may have more bytes than it fills
    const fits = { url: image.pinned, room: image.format === 'raw' ? room : undefined };
    return [describeFile(`The image ${image.pinned}`, look, fits)].filter((line) => line !== undefined);
  }
  const asked = [
    { what: 'image', url: source },
    { what: 'checksum file', url: hash ?? checksum },
  ].flatMap(({ what, url }) => (typeof url === 'string' && /^https?:/i.test(url) ? [{ what, url }] : []));
  const found = await Promise.all(
    asked.map(async ({ what, url }) => {
      const name = `The ${what} ${showUrl(url)}`;
      if (project !== undefined && !rules.allow) {
        return `${name} is not looked at for callers bound to a project, unless ${rules.setting} says what may be fetched: the machine fetches it itself.`;
      }
      try {
        const look = await lookOnce(checkOutboundUrl(what, url, rules), rules, now);
        const found = describeFile(name, look, what === 'image' ? { url, room } : undefined);
        return found ?? describeCertificate(url, date);
      } catch (cause) {
        const why = project === undefined ? ` (${errorChain(cause)})` : '';
        return `${name} can't be looked at from the conductor${why}: the machine fetches it itself.`;
      }
    }),
  );
  return found.filter((line) => line !== undefined);
}

/** Describes the server's certificate where it soon ends: the machine checks it, too. */
export function describeCertificate(url: string, now: Date): string | undefined {
  const certificate = findPeerCertificate(url);
  const said = certificate && describePeerEnd(certificate, now);
  return said && `${said.charAt(0).toUpperCase()}${said.slice(1)}.`;
}

/** Finds the size of the disk that is to be written, in bytes; `undefined` = it is not known. */
function roomFor({ disks }: Pick<PlanDestroys, 'disks'>): number | undefined {
  const sizes = disks.filter(({ by }) => by.includes('deploy.write_image')).map(({ disk }) => disk.sizeBytes);
  return sizes.length === 0 || sizes.includes(0) ? undefined : Math.max(...sizes);
}

/**
 * Describes what is wrong with a file by the answer to a question about it; `undefined` = nothing that is certain. Pure.
 * @param image its URL, and bytes of the disk it goes to, where they are known; absent for another file
 */
export function describeFile(
  name: string,
  { status, type, bytes }: FileLook,
  image?: { readonly url: string; readonly room: number | undefined },
): string | undefined {
  if (status >= 300 && status < 400) return undefined; // where it leads is the agent's to see
  if (status === 404 || status === 410) return `${name} is not there: its server answers ${status}.`;
  if (status === 401 || status === 403 || status === 407) {
    return `${name} is not given out: its server answers ${status} to the conductor, and whether it does to the machine is not known.`;
  }
  if (status >= 400) return `${name} is not given out: its server answers ${status}.`;
  if (image && type !== undefined && /^text\/html\b/i.test(type))
    return `${name} is a web page (${type}), not an image.`;
  if (bytes === 0) return `${name} is empty.`;
  // compressed or in chunks it takes more room than it has bytes; less only where it is qcow2
  const isWhole = image && !/\.(caibx|qcow2)([?#]|$)/i.test(image.url);
  if (!isWhole || image.room === undefined || bytes === undefined || bytes <= image.room) return undefined;
  return `${name} has ${bytes} bytes, and the largest disk that it may go to ${image.room}: it does not fit.`;
}

/** Looks at a file, or returns the look of the last minute, which may still be under way. @throws as `lookAtFile` */
function lookOnce(url: URL, rules: OutboundRules, now: number): Promise<FileLook> {
  const looks = kept.get(rules) ?? new Map<string, KeptLook>();
  kept.set(rules, looks);
  const known = looks.get(url.href);
  if (known && now - known.at < keptMs) return known.look;
  looks.delete(url.href); // what is new stands at the end
  const look = lookAtFile(url, rules);
  looks.set(url.href, { at: now, look });
  for (const oldest of looks.keys()) {
    if (looks.size <= mostKept) break;
    looks.delete(oldest);
  }
  return look;
}

/** @throws Error of the connection, AppError `forbidden` for an address that the rules refuse, `timeout` */
async function lookAtFile(url: URL, rules: OutboundRules): Promise<FileLook> {
  const dispatcher = outboundAgent(rules);
  const signal = AbortSignal.timeout(lookMs);
  try {
    const head = await ask(url, { method: 'HEAD', dispatcher, signal });
    const isCertain = head.status < 400 || head.status === 404 || head.status === 410;
    // a signed URL, or a small server, may know GET alone
    return isCertain ? head : await ask(url, { method: 'GET', headers: { range: 'bytes=0-0' }, dispatcher, signal });
  } catch (cause) {
    if (signal.aborted) throw new AppError('timeout', `no answer within ${lookMs / 1000} s`, { cause });
    throw cause;
  } finally {
    await dispatcher.destroy();
  }
}

async function ask(url: URL, question: Omit<PeerRequest, 'who'>): Promise<FileLook> {
  const { status, headers } = await askPeerForHeaders('image', url, { who: 'the image server', ...question });
  // sent more than once, none of them is certain
  const text = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const whole = status === 206 ? /\/(\d+)$/.exec(text('content-range') ?? '')?.[1] : text('content-length');
  return { status, type: text('content-type'), bytes: whole === undefined ? undefined : Number(whole) };
}
