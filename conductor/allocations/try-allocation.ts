import type { AllocationRequest } from '#conductor/allocations/allocation-fields.ts';
import { checkRequest, memberNames, requireFreeName } from '#conductor/allocations/create-allocation.ts';
import { type Candidate, decide, describeShortage, type Requirements, refusals } from '#conductor/allocations/match.ts';
import { readAll, readFitting } from '#conductor/allocations/read-candidates.ts';
import type { TrialAnswer } from '#conductor/api/node-parts.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';

/**
 * `dry_run`: nothing is written.
 * @throws AppError as the request itself would.
 */
export async function tryAllocation(
  db: Queryable,
  request: AllocationRequest,
  options: { readonly caller: Caller; readonly version: number },
): Promise<TrialAnswer> {
  const order = await checkRequest(db, request, options);
  await requireFreeName(db, request);
  const requirements: Requirements = { ...order.requirements, resourceClass: order.resourceClass ?? '' };
  const nodes = await readAll(db, options.caller.project);
  const judged = nodes.map((node) => ({ node, reasons: reasonsAgainst(node, requirements) }));
  const fitting = await readFitting(db, requirements, { names: [], needed: order.count, limit: undefined });
  const names = memberNames(request);
  const verdict = decide(
    { ...order, names, placement: request.placement, mayWait: request.wait !== undefined, triesLeft: 0 },
    fitting,
  );
  const chosen = verdict.kind === 'take' ? verdict.nodes : [];
  const named =
    requirements.candidateNodes.length > 0 ? candidatesOf(nodes, requirements) : nodes.filter(isOfClass(requirements));
  return {
    dry_run: true,
    nodes: chosen.map(({ uuid, name, rack }) => ({ uuid, name, rack: rack ?? null })),
    fitting: fitting.filter(({ isLocked }) => !isLocked).length,
    error: verdict.kind === 'take' ? null : describeShortage(requirements, named, order.count),
    refused: judged
      .filter(({ reasons }) => reasons.length > 0)
      .map(({ node: { uuid, name }, reasons }) => ({ uuid, name, reasons })),
  };
}

function reasonsAgainst(node: Candidate, requirements: Requirements): string[] {
  const locked = node.isLocked ? ['is locked by a conductor at work, which is waited for'] : [];
  return [...refusals(node, requirements).map(({ text }) => text), ...locked];
}

const isOfClass =
  (requirements: Requirements) =>
  (node: Candidate): boolean =>
    node.resourceClass === requirements.resourceClass;

function candidatesOf(nodes: readonly Candidate[], requirements: Requirements): Candidate[] {
  return nodes.filter(({ uuid }) => requirements.candidateNodes.includes(uuid));
}
