import type { FlowView } from '#conductor/api/flows.ts';
import type { NodeAnswer } from '#conductor/api/resources.ts';
import { readTimeout } from '#conductor/cli/nodes/provision.ts';
import { callFor, getNode } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { forEachOperand, onNodes } from '#conductor/cli/shell/on-nodes.ts';
import { cell, print } from '#conductor/cli/shell/print.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { AppError } from '#shared/errors/app-error.ts';

const pollMs = 500;

const options = {
  soft: { meaning: 'ask the operating system to shut down, and wait for it' },
  wait: { meaning: 'wait until it is done' },
  timeout: { value: 'SECONDS', goesWith: 'wait', meaning: 'with --wait: stop waiting then' },
} as const satisfies Record<string, CommandOption>;

async function waitForPower(context: CommandContext, input: CommandInput, ident: string): Promise<NodeAnswer> {
  const timeoutMs = readTimeout(input);
  const began = context.clock.now().getTime();
  for (;;) {
    const fields = ['name', 'power_state', 'target_power_state', 'last_error'] as const;
    const node = await getNode(context.client, ident, fields);
    if (!node.target_power_state) return node;
    if (timeoutMs !== undefined && context.clock.now().getTime() - began > timeoutMs) {
      throw new AppError('timeout', `wait for the power of node ${decodeURIComponent(ident)}: it goes on`);
    }
    await context.clock.sleep(pollMs);
  }
}

function power(words: string, target: { hard: string; soft?: string; rests: string }, meaning: string): Command {
  const { soft, ...hardOptions } = options;
  return onNodes({
    words,
    operands: ['NODE'],
    options: target.soft === undefined ? hardOptions : { soft, ...hardOptions },
    meaning,
    run: (context, input) =>
      forEachOperand(context, input, async (name, ident) => {
        const asked = (flagOption(input, 'soft') ? target.soft : undefined) ?? target.hard;
        await context.client.call('PUT', `/v1/nodes/${ident}/states/power`, { target: asked });
        if (!flagOption(input, 'wait'))
          return { json: { node: name, target: asked }, text: `node ${name}: ${asked} asked for\n` };
        const node = await waitForPower(context, input, ident);
        const state = cell(node.power_state);
        if (state !== target.rests) {
          throw new AppError('command_failed', `node ${name}: its power is '${state}': ${cell(node.last_error)}`);
        }
        return { json: { node: name, power_state: state }, text: `node ${name}: ${state}\n` };
      }),
  });
}

const powerRelease: Command = onNodes({
  words: 'power release',
  operands: ['NODE'],
  meaning: 'let the power of nodes be switched though a step may be under way that must not lose it',
  details:
    'Firmware, volumes, BIOS settings and disks that erase themselves may be broken by a loss of power: until such a step ' +
    'has ended by its own word, or its time is over, nothing switches the power. This is for a person who knows that ' +
    'nothing is under way, by the console of the machine or of its BMC.',
  run: (context, input) =>
    forEachOperand(context, input, async (node, ident) => {
      await context.client.call('POST', `/v1/nodes/${ident}/flow/release_power`);
      return { json: { node, power: 'released' }, text: `node ${node}: its power may be switched\n` };
    }),
});

const maintenanceOn: Command = onNodes({
  words: 'maintenance on',
  operands: ['NODE'],
  options: { reason: { value: 'TEXT', meaning: 'why, for others who look at the node' } },
  meaning: 'keep the conductor from working on nodes',
  run: (context, input) => {
    const reason = textOption(input, 'reason');
    return forEachOperand(context, input, async (node, ident) => {
      const body = reason === undefined ? {} : { reason };
      await context.client.call('PUT', `/v1/nodes/${ident}/maintenance`, body);
      return { json: { node, maintenance: true }, text: `node ${node}: in maintenance\n` };
    });
  },
});

const maintenanceOff: Command = onNodes({
  words: 'maintenance off',
  operands: ['NODE'],
  meaning: 'let the conductor work on nodes again',
  run: (context, input) =>
    forEachOperand(context, input, async (node, ident) => {
      await context.client.call('DELETE', `/v1/nodes/${ident}/maintenance`);
      return { json: { node, maintenance: false }, text: `node ${node}: no longer in maintenance\n` };
    }),
});

export const powerCommands: readonly Command[] = [
  power('power on', { hard: 'power on', rests: 'power on' }, 'switch nodes on'),
  power('power off', { hard: 'power off', soft: 'soft power off', rests: 'power off' }, 'switch nodes off'),
  power(
    'power reboot',
    { hard: 'rebooting', soft: 'soft rebooting', rests: 'power on' },
    'switch nodes off and on again',
  ),
  powerRelease,
  maintenanceOn,
  maintenanceOff,
];

/** The one of these names that may be skipped. @throws AppError `not_found` naming those that may */
async function findStep({ client }: CommandContext, ident: string, wanted: string): Promise<FlowView['steps'][number]> {
  const flow = await callFor<FlowView>(client, 'GET', `/v1/nodes/${ident}/flow`);
  const skippable = (flow?.steps ?? []).filter((step) => step.may_skip);
  const found = skippable.find((step) => [step.uuid, stepTitle(step), step.step].includes(wanted));
  if (found) return found;
  if (skippable.length === 0) {
    const holds = flow?.on_hold ? ': it is on hold, which `baton unhold` ends' : '';
    throw new AppError('not_found', `--step: no step of its flow may be skipped now${holds}`);
  }
  const names = skippable.map(stepTitle).join(', ');
  throw new AppError('not_found', `--step: ${wanted} is not a step that may be skipped now; that may: ${names}`);
}

export const flowCommands: readonly Command[] = [
  onNodes({
    words: 'retry',
    operands: ['NODE'],
    meaning: 'retry now what the flow under way is waiting for; its limits stay',
    run: async (context, input) => {
      const ident = pathOperand(input);
      const json = await context.client.call('POST', `/v1/nodes/${ident}/flow/retry`);
      print(context, input, { json, text: `node ${decodeURIComponent(ident)}: tried again\n` });
    },
  }),
  onNodes({
    words: 'skip',
    operands: ['NODE'],
    options: {
      step: {
        value: 'STEP',
        required: 'which step is left out must be said',
        meaning: 'interface.step, as baton watch shows it, or its UUID',
      },
    },
    meaning: 'skip a step of the flow under way that a request, a template or a plugin added',
    details: 'Before it runs, or while the conductor retries it. Steps of Baton, of drivers and of the agent stay.',
    run: async (context, input) => {
      const ident = pathOperand(input);
      const step = await findStep(context, ident, requiredOption(input, 'step'));
      const json = await context.client.call('POST', `/v1/nodes/${ident}/flow/skip`, { step: step.uuid });
      print(context, input, { json, text: `node ${decodeURIComponent(ident)}: ${stepTitle(step)} skipped\n` });
    },
  }),
];
