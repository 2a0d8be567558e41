import { notRecorded, type RecordedAnswer, readAnswers } from '#test/recorded/recorded-answers.ts';
import type { Draft } from '#test/simulators/kubernetes/resource.ts';
import type { Store } from '#test/simulators/kubernetes/store.ts';

/** Finds what is still as it was recorded, or was never; `undefined` = the server's own answer counts. */
export type ShowRecorded = (method: string, asked: URL) => RecordedAnswer | undefined;

type Answer = Readonly<Record<string, unknown>> & { readonly kind?: string; readonly items?: readonly Draft[] | null };

const plurals: Readonly<Record<string, string>> = { Node: 'nodes', Pod: 'pods' };

/**
 * Fills a store with recorded nodes and pods. The recorded answers are given until somebody changes an object of their kind.
 * @param outputs by `GET /path`; a page's path has its `continue`
 */
export function beginRecorded(store: Store, outputs: Readonly<Record<string, string>> | undefined): ShowRecorded {
  if (!outputs) return () => undefined;
  const find = readAnswers(outputs);
  const changed = new Set<string>();
  const known = new Set<string>();
  const listed = new Set<string>();
  for (const line of Object.keys(outputs)) {
    const { status, body } = find('GET', new URL(line.replace(/^\S+ /, ''), 'http://recorded')) ?? notRecorded;
    const answer = (status === 200 && body.startsWith('{') ? JSON.parse(body) : {}) as Answer;
    const plural = plurals[answer.kind?.replace(/List$/, '') ?? ''];
    if (plural === undefined) continue;
    known.add(plural);
    const isList = answer.kind?.endsWith('List') === true;
    if (isList) listed.add(plural);
    const objects = isList ? (answer.items ?? []) : [answer as unknown as Draft];
    for (const each of objects) {
      const { name, namespace, uid } = each.metadata;
      if (!store.find(plural, name, namespace)) store.create(plural, each, uid);
    }
  }
  store.subscribe(({ plural }) => changed.add(plural));
  return (method, asked) => {
    const [, plural = ''] = /\/(nodes|pods)(?=\/|$)/.exec(asked.pathname) ?? [];
    if (method !== 'GET') return known.has(plural) ? undefined : notRecorded;
    // a list of those that are known would say that there are no others
    const isOurs = changed.has(plural) && (listed.has(plural) || !asked.pathname.endsWith(`/${plural}`));
    return isOurs ? undefined : (find(method, asked) ?? notRecorded);
  };
}
