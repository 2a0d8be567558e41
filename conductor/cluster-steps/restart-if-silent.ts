import { z } from 'zod';
import { whySilent } from '#conductor/cluster-steps/ask-instance.ts';
import { clusterArgs } from '#conductor/cluster-steps/cluster-step.ts';
import { answersArg, joinedArgs, secondsBetweenLooks, whyNotJoined } from '#conductor/cluster-steps/service-steps.ts';
import { hasBeenReset } from '#conductor/flows/bmc/hold-power.ts';
import { setPower, switchPower } from '#conductor/flows/conductor-steps/power.ts';
import { noteOutput } from '#conductor/flows/log/flow-store.ts';
import {
  type ConductorStep,
  type ConductorStepOutcome,
  type StepContext,
  stepArgs,
} from '#conductor/flows/step-context.ts';
import { findDeployBoot, wentByKexec } from '#conductor/nodes/deploy-boot.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';

const args = clusterArgs.extend({
  every: secondsBetweenLooks,
  timeout: z.number().int().positive().describe('seconds until its machine is restarted'),
  answers: answersArg,
  kubernetes: joinedArgs.optional().describe('it joins the Kubernetes cluster, as another than these'),
});

/**
 * A kernel that hangs after kexec looks to the BMC as one that runs. What tell them apart is what a node in service is
 * asked anyway; a machine that says nothing in this time starts once from its disk, and is waited for as after any deploy.
 */
export const restartIfSilent: ConductorStep = {
  interface: 'cluster',
  step: 'restart_if_silent',
  description: 'After kexec: restarts the machine once, if nothing of its instance answers.',
  run: look,
  resume: look,
};

async function look(context: StepContext): Promise<ConductorStepOutcome> {
  const { node, step, clock, log } = context;
  const given = parseStepArgs({ interface: 'cluster', step: step.step, args }, stepArgs(context));
  const boot = await context.ask(findDeployBoot(context.db, node.uuid));
  if (!boot) return { kind: 'done', output: reportOf('nothing is known of its deploy any more') };
  if (!wentByKexec(boot.output)) return restart(context); // decided below, by a look before
  const silent = await whyNothingAnswers(context, given);
  if (silent === undefined) return { kind: 'done', output: reportOf('its instance came up by kexec') };
  const now = clock.now().getTime();
  const leftMs = (step.startedAt?.getTime() ?? now) + given.timeout * 1000 - now;
  if (leftMs > 0) {
    const reason = `a sign that its instance came up by kexec, else its machine is restarted in ${Math.ceil(leftMs / 1000)} s: ${silent}`;
    return {
      kind: 'wait',
      reason,
      code: 'machine_wait',
      timeoutMs: Infinity,
      checkEveryMs: Math.min(given.every * 1000, leftMs),
    };
  }
  const reason = `its instance did not answer within ${given.timeout} s of kexec, and its machine was restarted (${silent})`;
  log.warn({ silent }, 'kexec: the instance does not answer, its machine is restarted');
  // where operators see how it was booted, and `auto` what to expect of the model; it is not decided a second time
  await context.record((tx) => noteOutput(tx, boot.stepUuid, { deploy_boot: 'reboot', reason }));
  return {
    kind: 'wait',
    reason: 'its machine to be restarted',
    code: 'machine_wait',
    timeoutMs: Infinity,
    checkEveryMs: 1,
  };
}

/**
 * Restarts the machine by two calls, each of which can be repeated; a machine that is on its way, since a conductor died
 * after both, is not switched off again.
 */
async function restart(context: StepContext): Promise<ConductorStepOutcome> {
  if (!(await hasBeenReset(context))) {
    await setPower(context, 'power off');
    await context.noteOff();
  }
  const output = reportOf('its instance did not answer after kexec: its machine was restarted');
  return { kind: 'done', output, record: await switchPower(context, 'power on') };
}

/** @returns why, of all that was asked; `undefined` when something answers */
async function whyNothingAnswers(context: StepContext, given: z.output<typeof args>): Promise<string | undefined> {
  const notJoined =
    given.kubernetes && (await whyNotJoined(context, { node: given.node, every: given.every, ...given.kubernetes }));
  if (given.kubernetes && notJoined === undefined) return undefined;
  const { config, signal } = context;
  const silent = await whySilent(given.answers, { rules: config.outbound.health, signal });
  if (silent.length < given.answers.length) return undefined;
  return [...(notJoined === undefined ? [] : [`not Ready in Kubernetes: ${notJoined}`]), ...silent].join('; ');
}

function reportOf(message: string): { readonly deeds: []; readonly messages: readonly unknown[] } {
  return { deeds: [], messages: [{ message, error: false }] };
}
