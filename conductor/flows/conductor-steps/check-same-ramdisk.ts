import { askForSteps, sameVersions } from '#conductor/agents/ask-for-steps.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * After a reboot amid the flow: the ramdisk must be the one that the plan was made with.
 * @throws AppError `version_mismatch`
 */
export async function checkSameRamdisk(context: StepContext): Promise<void> {
  const { inBand } = flowKinds[context.flow.kind];
  const planned = context.flow.hardwareManagerVersion;
  if (!inBand || !planned) return;
  const about = { secrets: context.secrets, node: context.node, ports: await context.ports() };
  const { version } = await askForSteps(context.agent(), inBand.kind, about);
  if (sameVersions(planned, version)) return;
  throw new AppError(
    'version_mismatch',
    `the agent came back with other hardware managers: ${JSON.stringify(version)}, planned with ${JSON.stringify(planned)}`,
  );
}
