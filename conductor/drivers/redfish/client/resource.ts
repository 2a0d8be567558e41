import type { z } from 'zod';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/client/errors.ts';
import { requireOwnPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { isBrokenJson, type RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

export interface Resource<T> {
  readonly path: string;
  /** From the header, else `@odata.etag`; `undefined` where the BMC gives none. */
  readonly etag: string | undefined;
  readonly data: T;
}

/** @throws AppError `bmc_error` when the answer is not the resource that `schema` describes. */
export async function readResource<T>(
  client: RedfishClient,
  path: string,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Resource<T>> {
  const answer = await client.request({ method: 'GET', path, signal });
  const parsed = schema.safeParse(answer.body);
  if (!parsed.success) {
    const faults = isBrokenJson(answer.body)
      ? 'it is not JSON (truncated?)'
      : typeof answer.body === 'string'
        ? 'it is text, not JSON'
        : describeIssues(parsed.error, 'body');
    const what = `GET ${client.origin}${requireOwnPath(path, client.origin)}`;
    throw new AppError('bmc_error', `${what} is not what Redfish defines: ${faults}`, {
      details: { isNoAnswer: true },
    });
  }
  return { path, etag: etagOf(answer), data: parsed.data };
}

/**
 * PATCHes a resource with its ETag, if it has one. 412 and 428 are met as BMCs need it: read again and repeat (somebody
 * else changed the resource), then the strong form of a weak ETag, that without what a server adds for its compression,
 * any state (of AMI's settings, which can't be read, and want If-Match), then no If-Match at all (BMCs that refuse their
 * own ETags; python-sushy does the same).
 */
export async function patchResource(
  client: RedfishClient,
  resource: Pick<Resource<unknown>, 'path' | 'etag'>,
  body: unknown,
  signal: AbortSignal,
): Promise<RedfishAnswer> {
  const { path } = resource;
  const patch = (ifMatch: string | undefined): Promise<RedfishAnswer> =>
    client.request({
      method: 'PATCH',
      path,
      body,
      signal,
      ...(ifMatch === undefined ? {} : { headers: { 'if-match': ifMatch } }),
    });
  const tried = new Set<string | undefined>();
  let next: { readonly ifMatch: string | undefined } | undefined = { ifMatch: resource.etag };
  let fresh: string | undefined;
  for (;;) {
    tried.add(next.ifMatch);
    try {
      return await patch(next.ifMatch);
    } catch (error) {
      if (!isPrecondition(error)) throw error;
      fresh ??= (await readEtag(client, path, signal)) ?? '*';
      const candidates = [fresh, strong(fresh), strong(fresh)?.replace(/-gzip"$/, '"'), undefined];
      next = candidates.map((ifMatch) => ({ ifMatch })).find(({ ifMatch }) => !tried.has(ifMatch));
      if (!next) throw error;
    }
  }
}

/** AMI answers 400 for a header that is missing. */
function isPrecondition(error: unknown): boolean {
  const isMissing =
    error instanceof AppError && /\bPreconditionHeaderMissing\b|required precondition/.test(error.message);
  return isMissing || [412, 428].includes(httpStatusOf(error) ?? 0);
}

async function readEtag(client: RedfishClient, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return etagOf(await client.request({ method: 'GET', path, signal }));
  } catch (error) {
    if (![404, 405, 410].includes(httpStatusOf(error) ?? 0)) throw error;
    return undefined;
  }
}

function etagOf(answer: RedfishAnswer): string | undefined {
  const inBody = (answer.body as { '@odata.etag'?: unknown } | undefined)?.['@odata.etag'];
  const etag = answer.headers['etag'] ?? inBody;
  return typeof etag === 'string' && etag !== '' ? etag : undefined;
}

function strong(etag: string | undefined): string | undefined {
  return etag?.startsWith('W/') ? etag.slice(2) : etag;
}
