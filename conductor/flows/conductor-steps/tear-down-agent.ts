import { staysInRamdisk } from '#conductor/flows/conductor-steps/fast-track.ts';
import { park, wantsKexec } from '#conductor/flows/conductor-steps/kexec.ts';
import { switchPower } from '#conductor/flows/conductor-steps/power-off.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const tearDownAgent: ConductorStep = {
  interface: 'deploy',
  step: 'tear_down_agent',
  description:
    'Has the agent flush its disks, then powers the machine off; with kexec the agent loads the written system instead.',
  run: (context) => tearDown(context, 'run'),
  resume: (context) => tearDown(context, 'resume'),
};

async function tearDown(context: StepContext, mode: 'run' | 'resume'): Promise<ConductorStepOutcome> {
  if (staysInRamdisk(context)) return { kind: 'done', output: { fast_track: 'the ramdisk runs on' } };
  // run again after a crash, the machine may be off already: there is nothing left to flush then
  const isOn = (await context.bmc().power.getPowerState({ signal: context.signal })) !== 'power off';
  if (!isOn || !context.session?.callbackUrl) return { kind: 'done', record: await switchPower(context, 'power off') };
  const parked = wantsKexec(context) ? await park(context, mode) : undefined;
  if (parked && parked.kind !== 'refused') return parked;
  const result = await context.agent().post({ name: 'standby.sync', params: {} }, { wait: true });
  if (result.command_status !== 'SUCCEEDED') {
    throw new AppError('agent_error', `flush the disks: ${result.command_error?.details ?? result.command_status}`);
  }
  const output = parked && { deploy_boot: 'reboot', reason: parked.reason };
  return { kind: 'done', output, record: await switchPower(context, 'power off') };
}
