import type { ApiClient } from '#conductor/cli/api-client.ts';
import { describeNoRevision, parseVersion } from '#conductor/model/revision-roles.ts';

interface RevisionAnswer {
  readonly id: number;
  readonly roles: readonly string[];
}

/**
 * That no revision of the site is this one, and what there is; the API's 404 has no words here.
 * @param version as it was typed
 */
export async function adviseOnRevision({ client }: { readonly client: ApiClient }, version: string): Promise<string> {
  const answer = await client.call('GET', '/api/v1.0/revisions?order=desc');
  const rows = (answer?.['results'] ?? []) as readonly RevisionAnswer[];
  const idOf = (role: string) => rows.find(({ roles }) => roles.includes(role))?.id;
  const wanted = parseVersion(version) ?? version;
  const message = describeNoRevision(wanted);
  const upload = '`baton site upload COLLECTION FILE` fills it';
  if (wanted === 'buffer') {
    const committed = idOf('committed');
    return committed === undefined
      ? `${message}, and nothing is committed: ${upload}`
      : `${message}: ${upload}; without --version it is revision ${committed}, which is committed`;
  }
  const buffer = idOf('buffer');
  return buffer === undefined ? message : `${message}; the buffer has revision ${buffer}: --version buffer`;
}
