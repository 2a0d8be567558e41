import { isRemark, type Remark, type RemarkValue } from '#conductor/model/remark.ts';
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
  return ['node', 'Node'].reduce(
    (reported, word) => reported.replaceAll(`${word} ${uuid}`, () => `${word} ${name}`),
    text,
  );
}

/** The same of what has become of it, which is about this node. Pure. */
export function aboutNode(outcome: NodeOutcome, node: Named): NodeOutcome {
  if (outcome.state === 'working') return { ...outcome, doing: remarkOn(outcome.doing, node) };
  if (outcome.state === 'failed') return { ...outcome, error: remarkOn(outcome.error, node) };
  return outcome.remark === undefined ? outcome : { ...outcome, remark: remarkOn(outcome.remark, node) };
}

function remarkOn(remark: Remark, node: Named): Remark {
  const named = (value: RemarkValue): RemarkValue => {
    if (typeof value === 'string') return inItsName(value, node);
    return isRemark(value) ? { ...value, arguments: mapArguments(value, named) } : value;
  };
  return { code: remark.code, subject: node.name, arguments: mapArguments(remark, named) };
}

function mapArguments({ arguments: given }: Remark, map: (value: RemarkValue) => RemarkValue): Remark['arguments'] {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, map(value)]));
}
