import type { Json } from '#conductor/cli/api-client.ts';
import { type Command, pathOperand } from '#conductor/cli/command.ts';
import { noNode } from '#conductor/cli/get-node.ts';
import { cell, print, table } from '#conductor/cli/print.ts';

export const firmwareCommand: Command = {
  words: 'firmware',
  operands: ['NODE'],
  meaning: "versions of a node's firmware as last read, and what an update has written",
  details: 'Update it with the step firmware.update, which takes components by these names (docs/hardware.md).',
  run: async (context, input) => {
    const answer = await context.client.call('GET', `/v1/nodes/${pathOperand(input)}/firmware`);
    if (!answer) throw noNode(pathOperand(input));
    const components = answer['firmware'] as Json[];
    const rows = components.map((each) =>
      ['component', 'current_version', 'initial_version', 'last_version_flashed'].map((key) => cell(each[key] ?? '-')),
    );
    print(context, input, {
      json: components,
      text: table([['component', 'version', 'at first', 'updated to'], ...rows]),
    });
  },
};
