import type { Json } from '#conductor/cli/api-client.ts';
import { type Command, pathOperand } from '#conductor/cli/command.ts';
import { noNode } from '#conductor/cli/get-node.ts';
import { cell, print, table } from '#conductor/cli/print.ts';

/** What the BMC tells of the hardware now. */
const read = (words: string, key: 'sensors' | 'event_log', columns: readonly string[], meaning: string): Command => ({
  words,
  operands: ['NODE'],
  meaning,
  run: async (context, input) => {
    const answer = await context.client.call('GET', `/v1/nodes/${pathOperand(input)}/${key}`);
    if (!answer) throw noNode(pathOperand(input));
    const entries = answer[key] as Json[];
    const rows = entries.map((entry) => columns.map((column) => cell(entry[column] ?? '-')));
    print(context, input, { json: entries, text: table([columns, ...rows]) });
  },
});

export const hardwareCommands: readonly Command[] = [
  read('sensors', 'sensors', ['name', 'value', 'unit', 'health'], "what the machine's sensors read now, by its BMC"),
  read('sel', 'event_log', ['at', 'severity', 'message'], "the newest entries of the BMC's system event log"),
];
