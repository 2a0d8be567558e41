import type { FlowSummaryView } from '#conductor/api/flows.ts';
import type { FleetView } from '#conductor/api/node-parts.ts';
import { callFor } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  usageError,
} from '#conductor/cli/command.ts';
import { listAll } from '#conductor/cli/list-all.ts';
import { lookPatiently } from '#conductor/cli/look-patiently.ts';
import { createPainter } from '#conductor/cli/paint-lines.ts';
import { print } from '#conductor/cli/print.ts';
import { type FleetPicture, renderFleet } from '#conductor/cli/render-fleet.ts';
import { AppError } from '#shared/errors/app-error.ts';

const watchMs = 2_000;

async function look({ client }: CommandContext, all: boolean): Promise<FleetPicture> {
  const [fleet, flows] = await Promise.all([
    callFor<FleetView>(client, 'GET', '/v1/fleet'),
    listAll<FlowSummaryView>(client, { path: '/v1/flows', key: 'flows' }),
  ]);
  if (!fleet) throw new AppError('not_supported', 'this conductor knows no GET /v1/fleet: it is of an older release');
  return { fleet, flows, all };
}

async function status(context: CommandContext, input: CommandInput): Promise<void> {
  const { screen, clock } = context;
  const all = flagOption(input, 'all');
  if (!flagOption(input, 'watch')) {
    const seen = await look(context, all);
    const columns = screen.isTerminal ? screen.size().columns : Number.POSITIVE_INFINITY;
    const text = renderFleet(seen, clock.now(), columns).map((line) => `${line}\n`);
    print(context, input, { json: { fleet: seen.fleet, flows: seen.flows }, text: text.join('') });
    return;
  }
  if (!screen.isTerminal || input.document !== undefined) {
    throw usageError('--watch: it paints over a terminal; for programs there is baton status -o json');
  }
  const paint = createPainter(screen);
  for (;;) {
    const seen = await lookPatiently(() => look(context, all), clock);
    paint('fleet', renderFleet(seen, clock.now(), screen.size().columns));
    await clock.sleep(watchMs);
  }
}

export const statusCommand: Command = {
  words: 'status',
  options: {
    all: { meaning: 'list what goes as planned, too' },
    watch: { meaning: 'show it again and again until Ctrl-C' },
  },
  meaning: 'the fleet: nodes by state, then what failed, retries, waits for long or is held, the worst first',
  run: status,
};
