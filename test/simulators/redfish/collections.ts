import type { Answer } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';

/** Faults of collections of some BMCs, put over what the service answers. */

type Members = readonly unknown[];

/** Where one member more would be one that counts. */
const counted = /\/(Systems|Managers|Storage|Volumes|Sessions)$/;

export function withOddMembers(
  answer: Answer,
  { path, query }: { readonly path: string; readonly query: string },
  { collections }: Quirks,
): Answer {
  const body = answer.body as Readonly<Record<string, unknown>> | undefined;
  const members = body?.['Members'];
  if (collections === 'as they are' || !Array.isArray(members)) return answer;
  if (collections === 'in pages') return { ...answer, body: { ...body, ...pageOf(members as Members, path, query) } };
  const name = badNames[collections];
  const isLink = name !== undefined;
  const mayCount = isLink || collections === 'with a nameless one';
  if (mayCount && counted.test(path)) return answer;
  const one =
    collections === 'with null'
      ? null
      : collections === 'with a nameless one'
        ? {}
        : { '@odata.id': `${path}/${name}` };
  return { ...answer, body: { ...body, Members: [one, ...(members as Members)], ...countOf(members.length + 1) } };
}

/** The answer to a request for a member that can't be read. */
export function brokenMember(path: string): Answer | undefined {
  const status = { Broken: 500, Busy: 503 }[path.split('/').at(-1) ?? ''];
  return status === undefined ? undefined : { status };
}

const badNames: Partial<Record<Quirks['collections'], string>> = {
  'with a dead one': 'Gone',
  'with a broken one': 'Broken',
  'with a busy one': 'Busy',
};
const countOf = (count: number) => ({ 'Members@odata.count': count });

/** An empty first page, as some have, then one for each. */
function pageOf(members: Members, path: string, query: string): object {
  const at = Number(/\$skip=(\d+)/.exec(query)?.[1] ?? -1);
  const next = at + 1 < members.length ? { 'Members@odata.nextLink': `${path}?$skip=${at + 1}` } : {};
  return { Members: at < 0 ? [] : members.slice(at, at + 1), ...countOf(members.length), ...next };
}
