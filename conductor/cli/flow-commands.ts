import type { FlowView } from '#conductor/api/flows.ts';
import { type Command, type CommandContext, pathOperand, requiredOption } from '#conductor/cli/command.ts';
import { onNodes } from '#conductor/cli/on-nodes.ts';
import { print } from '#conductor/cli/print.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The one of these names that may be skipped. @throws AppError `not_found` naming those that may */
async function findStep({ client }: CommandContext, ident: string, wanted: string): Promise<FlowView['steps'][number]> {
  const { steps } = (await client.call('GET', `/v1/nodes/${ident}/flow`)) as unknown as FlowView;
  const skippable = steps.filter((step) => step.may_skip);
  const found = skippable.find((step) => [step.uuid, stepTitle(step), step.step].includes(wanted));
  if (found) return found;
  const names = skippable.map(stepTitle).join(', ') || 'none of its steps';
  throw new AppError('not_found', `--step: ${wanted} is no step that may be skipped now; that may: ${names}`);
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
