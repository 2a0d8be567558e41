import type { FlowView } from '#conductor/api/flows.ts';
import { describeFlowChanges } from '#conductor/cli/nodes/render-flow.ts';
import type { DeployReport } from '#test/lab/deploy-and-prove.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';

/** By the node's name. */
export type DeployOutcomes = ReadonlyMap<string, PromiseSettledResult<DeployReport>>;

/** Reports of a deploy while it goes on. */
interface Reporting {
  readonly onFlow: (flow: FlowView) => void;
  readonly report: (line: string) => void;
}

/** Deploys onto all nodes of the lab at the same time; one that fails ends no other. */
export async function deployOnEach(
  lab: Lab,
  deploy: (node: LabNode, reporting: Reporting) => Promise<DeployReport>,
  report: (line: string) => void,
): Promise<DeployOutcomes> {
  const settled = await Promise.allSettled(
    lab.nodes.map((node) => deploy(node, { onFlow: reportSteps(node.name, report), report })),
  );
  if (settled.some(({ status }) => status === 'rejected')) report(labDiagnostics(lab, 60));
  return new Map(settled.map((outcome, index) => [lab.nodes[index]?.name ?? '', outcome]));
}

/** Tells what has changed each time that a flow is seen. */
export function reportSteps(nodeName: string, report: (line: string) => void): (flow: FlowView) => void {
  let seen: FlowView | undefined;
  return (flow) => {
    for (const line of describeFlowChanges(seen, flow, new Date())) report(`${nodeName}: ${line}`);
    seen = flow;
  };
}

/** Gives what the deploy of that node has proved. @throws what it has failed with */
export function reportOf(outcomes: DeployOutcomes, name: string): DeployReport {
  const outcome = outcomes.get(name);
  if (outcome?.status !== 'fulfilled') throw outcome?.reason ?? new Error(`${name} was not deployed`);
  return outcome.value;
}
