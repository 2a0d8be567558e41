import type { z } from 'zod';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/client/errors.ts';
import { isWithoutContent } from '#conductor/drivers/redfish/client/message-meaning.ts';
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
  const isEmpty = isWithoutContent(answer.body);
  if (!parsed.success || isEmpty) {
    const faults = describeFaults(answer.body, parsed.error);
    const what = `GET ${client.origin}${requireOwnPath(path, client.origin)}`;
    throw new AppError('bmc_error', `${what} is not what Redfish defines: ${faults}`, {
      details: { isNoAnswer: true },
    });
  }
  return { path, etag: etagOf(answer), data: parsed.data };
}

function describeFaults(body: unknown, error: z.ZodError | undefined): string {
  if (isBrokenJson(body)) return 'it is not JSON (truncated?)';
  if (typeof body === 'string') return 'it is text, not JSON';
  // a resource has a name at least: by one without properties all would be absent that it has
  return isWithoutContent(body) || !error ? 'it has no properties' : describeIssues(error, 'body');
}

/**
 * PATCHes a resource with its ETag, if it has one. 412 and 428 are met as BMCs need it: read again and repeat (somebody
 * else changed the resource), then the strong form of a weak ETag, that without what a server adds for its compression,
 * the body's where the header's differs (some quote the header's twice), any state (of AMI's settings, which can't be
 * read, and want If-Match; of others that refuse their own ETags, and nothing), then no If-Match at all (python-sushy does
 * the same).
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
  let fresh: Etags | undefined;
  for (;;) {
    tried.add(next.ifMatch);
    try {
      return await patch(next.ifMatch);
    } catch (error) {
      if (!isPrecondition(error)) throw error;
      fresh ??= await readEtags(client, path, signal);
      const { shown, inBody } = fresh;
      const forms = [shown, strong(shown), strong(shown)?.replace(/-gzip"$/, '"'), inBody, strong(inBody)];
      const candidates = [...forms.filter((form) => form !== undefined), '*', undefined];
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

interface Etags {
  /** In the header, else in the body. */
  readonly shown: string | undefined;
  readonly inBody: string | undefined;
}

async function readEtags(client: RedfishClient, path: string, signal: AbortSignal): Promise<Etags> {
  try {
    const answer = await client.request({ method: 'GET', path, signal });
    return { shown: etagOf(answer), inBody: etagInBody(answer) };
  } catch (error) {
    if (![404, 405, 410].includes(httpStatusOf(error) ?? 0)) throw error;
    return { shown: undefined, inBody: undefined };
  }
}

function etagOf(answer: RedfishAnswer): string | undefined {
  return answer.headers['etag'] === undefined ? etagInBody(answer) : answer.headers['etag'] || undefined;
}

function etagInBody({ body }: RedfishAnswer): string | undefined {
  const etag = (body as { '@odata.etag'?: unknown } | undefined)?.['@odata.etag'];
  return typeof etag === 'string' && etag !== '' ? etag : undefined;
}

function strong(etag: string | undefined): string | undefined {
  return etag?.startsWith('W/') ? etag.slice(2) : etag;
}
