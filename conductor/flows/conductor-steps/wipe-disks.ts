import { z } from 'zod';
import { askForDisks, askForSteps } from '#conductor/agents/ask-agent.ts';
import { inBandHoldMs } from '#conductor/flows/bmc/hold-in-band.ts';
import {
  checkAgentStep,
  inBandOf,
  resumeAgentStep,
  sendAgentStep,
} from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { quoteWipe } from '#conductor/flows/conductor-steps/sign-receipt.ts';
import { noteOutput } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { osDiskByHints, requireIdentifiedDisks, sparedDisks, trustedOsDisk } from '#conductor/nodes/boot/os-disk.ts';
import { latestInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { inventoriedDisks, nameDisk, requireAllMet, requireTrueExcuses } from '#conductor/receipts/compose-receipt.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { EraseArgs, EraseResult, eraseStep, isEvidence, type OsDisk, skipReasons } from '#shared/wire/erase-result.ts';

/** Its output is a `ProvedWipe`: what a receipt is made from. */
export const wipeDisks: ConductorStep = {
  interface: 'deploy',
  step: 'wipe_disks',
  mustNotLosePower: (context) => inBandHoldMs(context, eraseStep),
  description: "Has the agent erase all disks, or the operating system's alone, and demands proof of each.",
  run: async (context) => {
    const started = await resumeAgentStep(context);
    if (started) return demandProof(context, started);
    await requireOwnAgent(context);
    const sent = preserves(context) ? { only: await chooseOsDisk(context) } : {};
    // what comes of it is compared with it, by whichever conductor
    await context.record((tx) => noteOutput(tx, context.step.uuid, { sent }));
    return demandProof(context, await sendAgentStep(context, sent, eraseStep), sent);
  },
  resume: async (context) => demandProof(context, await checkAgentStep(context)),
};

const NotedOutput = z.object({ sent: EraseArgs });

function preserves({ flow }: StepContext): boolean {
  return flow.wipe?.preserveLocalStorage === true;
}

/**
 * Before anything is touched: an agent that does not know the argument would erase every disk, and what it can't prove
 * would be erased to no purpose.
 * @throws AppError `agent_error`
 */
async function requireOwnAgent(context: StepContext): Promise<void> {
  const { advertised } = await askForSteps(context, inBandOf(context).kind);
  const offered = advertised.find((each) => each.interface === eraseStep.interface && each.step === eraseStep.step);
  if (offered?.argsinfo?.['only'] !== undefined) return;
  const what = offered ? 'has no argument "only", which this release requires' : 'is missing';
  throw new AppError(
    'agent_error',
    `nothing was touched: the agent's step ${eraseStep.interface}.${eraseStep.step} ${what}. A verified wipe needs the ` +
      "ramdisk of this release: other agents don't prove what they erase, and can't spare local storage",
  );
}

/**
 * Chooses the disk that the deploy recorded, else the one that the operator's hints name. Before anything is touched,
 * all others must be such that the next deploy can skip them.
 * @throws AppError `storage_error`
 */
async function chooseOsDisk(context: StepContext): Promise<OsDisk> {
  const { node } = context;
  const recorded = await context.ask(trustedOsDisk(context.db, node));
  const disks = await askForDisks(context.agent());
  const osDisk = recorded ?? osDiskByHints(disks, node.properties);
  requireIdentifiedDisks(disks, osDisk, node.properties);
  return osDisk;
}

async function demandProof(
  context: StepContext,
  outcome: ConductorStepOutcome,
  sent = NotedOutput.safeParse(context.step.output).data?.sent,
): Promise<ConductorStepOutcome> {
  if (outcome.kind === 'reboot') throw new AppError('agent_error', 'the agent wants a reboot and proves no erase');
  if (outcome.kind !== 'done') return outcome;
  const result = readProved(outcome.output, preserves(context));
  if (preserves(context)) requireOnlyChosenErased(result, sent?.only);
  else await requireComplete(context, result);
  const known = preserves(context) ? { sparedDisks: sparedDisks(result.skipped) } : { osDisk: null, sparedDisks: null };
  await context.record((tx) => updateNode(tx, context.node.uuid, known));
  const proved = { ...result, agent_version: context.session?.version ?? null };
  const quoted = await quoteWipe(context, proved);
  return { kind: 'done', output: quoted ? { ...proved, quoted } : proved };
}

/** A wipe of all disks has met every disk that the conductor knows of, and skipped only what the operator excludes. */
async function requireComplete({ ask, db, node }: StepContext, result: EraseResult): Promise<void> {
  const inventory = await ask(latestInventory(db, node.uuid));
  const inventoried = inventoriedDisks(inventory, node.properties);
  requireTrueExcuses(inventoried, result);
  requireAllMet(inventoried, result);
}

/**
 * The agent's answer, when it proves each disk and has skipped none without an operator's reason. Pure.
 * @throws AppError `agent_error` naming the disks.
 */
export function readProved(output: unknown, preservesLocalStorage: boolean): EraseResult {
  const parsed = EraseResult.safeParse(output);
  if (!parsed.success) {
    throw new AppError('agent_error', 'the agent answered the wipe and does not say what happened to each disk', {
      cause: parsed.error,
    });
  }
  const { erased, skipped } = parsed.data;
  const unproved = erased.filter(({ proof }) => !isEvidence(proof));
  if (unproved.length > 0) {
    throw new AppError(
      'agent_error',
      `the agent does not prove that it has wiped ${unproved.map(nameDisk).join(', ')}`,
    );
  }
  const reasons: readonly string[] = [skipReasons.skipList, skipReasons.virtualMedia];
  const left = preservesLocalStorage ? [] : skipped.filter(({ reason }) => !reasons.includes(reason));
  if (left.length > 0) {
    const each = left.map((disk) => `${nameDisk(disk)}: ${disk.reason}`);
    throw new AppError(
      'agent_error',
      `not all disks were wiped (${each.join('; ')}): list disks to keep in properties.skip_block_devices`,
    );
  }
  return parsed.data;
}

/** @throws AppError `agent_error` when other disks were wiped than the agent was sent for. */
function requireOnlyChosenErased({ erased }: EraseResult, only: OsDisk | undefined): void {
  const wanted = (only?.disks ?? []).map(({ name: device, serial, serials, wwn, wwns, model }) => ({
    device,
    serial,
    serials,
    wwn,
    wwns,
    model,
  }));
  const { pairs, unmet } = matchDisks(wanted, erased);
  if (unmet.length === 0 && pairs.size === erased.length && wanted.length > 0) return;
  throw new AppError(
    'agent_error',
    `the agent was to wipe ${wanted.map(nameDisk).join(', ') || 'a disk that was not recorded'} alone, and wiped ${
      erased.map(nameDisk).join(', ') || 'nothing'
    }`,
  );
}
