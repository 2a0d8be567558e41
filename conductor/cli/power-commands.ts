import { type Json, readOfNode } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  textOption,
} from '#conductor/cli/command.ts';
import { forEachOperand, onNodes } from '#conductor/cli/on-nodes.ts';
import { cell } from '#conductor/cli/print.ts';
import { readTimeout } from '#conductor/cli/provision.ts';
import { AppError } from '#shared/errors/app-error.ts';

const pollMs = 500;

const options = {
  soft: { meaning: 'ask the operating system to shut down, and wait for it' },
  wait: { meaning: 'wait until it is done' },
  timeout: { value: 'SECONDS', goesWith: 'wait', meaning: 'with --wait: stop waiting then' },
} as const satisfies Record<string, CommandOption>;

async function waitForPower(context: CommandContext, input: CommandInput, ident: string): Promise<Json> {
  const timeoutMs = readTimeout(input);
  const began = context.clock.now().getTime();
  for (;;) {
    const fields = 'name,power_state,target_power_state,last_error';
    const node = await readOfNode(context.client, ident, `?fields=${fields}`);
    if (!node['target_power_state']) return node;
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
        const state = cell(node['power_state']);
        if (state !== target.rests) {
          throw new AppError('command_failed', `node ${name}: its power is '${state}': ${cell(node['last_error'])}`);
        }
        return { json: { node: name, power_state: state }, text: `node ${name}: ${state}\n` };
      }),
  });
}

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
  maintenanceOn,
  maintenanceOff,
];
