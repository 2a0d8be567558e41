import type { Json } from '#conductor/cli/api-client.ts';
import { type Command, numberOption, pathOperand, textOption } from '#conductor/cli/command.ts';
import { noNode } from '#conductor/cli/get-node.ts';
import { cell, print, table } from '#conductor/cli/print.ts';

export const historyCommand: Command = {
  words: 'history',
  operands: ['NODE'],
  options: {
    limit: { value: 'COUNT', meaning: 'only the newest of them' },
    severity: { value: 'INFO|ERROR', meaning: 'only these' },
  },
  meaning: 'what happened to a node, and who asked for it; the newest last',
  run: async (context, input) => {
    const answer = await context.client.call('GET', `/v1/nodes/${pathOperand(input)}/history?detail=true`);
    if (!answer) throw noNode(pathOperand(input));
    const severity = textOption(input, 'severity')?.toUpperCase();
    const all = (answer['history'] as Json[]).filter(
      (entry) => severity === undefined || entry['severity'] === severity,
    );
    const entries = all.slice(-(numberOption(input, 'limit') ?? all.length));
    const rows = entries.map((entry) => [
      cell(entry['created_at']),
      cell(entry['severity']),
      cell(entry['user'] || '-'),
      // the chain of causes may have lines of its own
      cell(entry['event']).replaceAll('\n', ' '),
    ]);
    print(context, input, { json: entries, text: table([['time', 'severity', 'who', 'event'], ...rows]) });
  },
};
