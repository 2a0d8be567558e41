import { kindStartedBy } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { VerbEvent } from '#conductor/model/provision-states.ts';
import { asksBmcToInspect, type interfaceOf } from '#conductor/nodes/node-interfaces.ts';

/** Finds the kind of flow that an operator's verb starts on this node; none = the state changes at once. */
export function kindStartedOn(node: Parameters<typeof interfaceOf>[0], event: VerbEvent): FlowKindName | undefined {
  const kind = kindStartedBy(event);
  return kind && kindOn(node, kind);
}

/** Returns the kind that takes the place of another on this node: an inspection is its BMC's where its interface says so. */
export function kindOn(node: Parameters<typeof interfaceOf>[0], kind: FlowKindName): FlowKindName {
  return kind === 'inspect' && asksBmcToInspect(node) ? 'inspect_by_bmc' : kind;
}
