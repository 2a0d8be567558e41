import type { NodeFacts } from '#conductor/sites/nodes/node-facts.ts';

/** What of a node that the site has deployed is not as its documents say; `verify_site` names it, too. Pure. */
export function nameOutdated({
  facts,
  designHash,
}: {
  readonly facts: Pick<NodeFacts, 'rest' | 'deployed'>;
  readonly designHash: () => string;
}): string[] {
  const { rest, deployed } = facts;
  return [
    ...(rest?.differs ?? []),
    ...(deployed?.designHash === designHash() ? [] : ['deployed from other documents']),
  ];
}
