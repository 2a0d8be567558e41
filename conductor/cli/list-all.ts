import type { ApiClient, Json } from '#conductor/cli/api-client.ts';

const pageSize = 1000;

/**
 * Everything of a collection, page after page.
 * @param query without limit and marker; `undefined` values are left away
 */
export async function listAll<Item extends object = Json>(
  client: ApiClient,
  collection: { readonly path: string; readonly key: string },
  query: Readonly<Record<string, string | undefined>> = {},
  most = Number.POSITIVE_INFINITY,
): Promise<Item[]> {
  const all: Item[] = [];
  while (all.length < most) {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
    const limit = Math.min(pageSize, most - all.length);
    search.set('limit', String(limit));
    const last = all.at(-1);
    if (last && 'uuid' in last && typeof last.uuid === 'string') search.set('marker', last.uuid);
    const answer = await client.call('GET', `${collection.path}?${search.toString().replaceAll('%2C', ',')}`);
    const page = (answer?.[collection.key] ?? []) as Item[];
    all.push(...page);
    // `next` is the server's word; a page shorter than asked for may be its own limit
    if (page.length === 0 || answer?.['next'] === undefined) break;
  }
  return all;
}
