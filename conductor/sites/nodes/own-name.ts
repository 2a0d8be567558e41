import type { NodeOutcome } from '#conductor/model/site-run.ts';

interface Named {
  readonly name: string;
  /** Absent = it is not enrolled. */
  readonly uuid?: string | undefined;
}

/**
 * Flows and the API call a node by its UUID, as Ironic does; who has a site knows it by its name. Other UUIDs stay, those
 * in URLs too. Pure.
 */
export function inItsName(text: string, { name, uuid }: Named): string {
  if (uuid === undefined) return text;
  return ['node', 'Node'].reduce((told, word) => told.replaceAll(`${word} ${uuid}`, () => `${word} ${name}`), text);
}

/** The same of what has become of it. Pure. */
export function tellInItsName(outcome: NodeOutcome, node: Named): NodeOutcome {
  if (outcome.state === 'working') return { ...outcome, doing: inItsName(outcome.doing, node) };
  if (outcome.state === 'failed') return { ...outcome, error: inItsName(outcome.error, node) };
  return outcome;
}
