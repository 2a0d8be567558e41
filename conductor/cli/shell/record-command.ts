import { stringify } from 'yaml';
import type { RecordingAnswer } from '#conductor/api/records.ts';
import { answerFor, withQuery } from '#conductor/cli/shell/api-client.ts';
import { type Command, flagOption, pathOperand, textOption } from '#conductor/cli/shell/command.ts';
import { writeNewFile } from '#conductor/cli/shell/input-files.ts';
import { print } from '#conductor/cli/shell/print.ts';
import { AppError } from '#shared/errors/app-error.ts';

const sent =
  'Passwords, communities, keys, hashes and names of users are masked; serial numbers, UUIDs and addresses are replaced. Names ' +
  'and descriptions stay: read it before you send it. CONTRIBUTING.md says where to.';

/** Prints a recording in the form of `test/recorded`, or writes it to a file. */
export function recordCommand(about: {
  readonly words: string;
  readonly operand: string;
  readonly path: string;
  readonly meaning: string;
  readonly details: string;
}): Command {
  return {
    words: about.words,
    operands: [about.operand],
    options: {
      output: {
        value: 'FILE',
        short: 'o',
        meaning: 'a new file for it, or json, yaml, text (default: text, on standard output)',
      },
      'keep-identities': { meaning: 'leave serial numbers, UUIDs and addresses as they are' },
    },
    meaning: about.meaning,
    details: about.details + sent,
    run: async (context, input) => {
      const query = { keep_identities: flagOption(input, 'keep-identities') ? 'true' : undefined };
      const path = withQuery(`${about.path}/${pathOperand(input)}/recording`, query);
      const recording = await answerFor<RecordingAnswer>(context.client, about.words, 'GET', path, undefined, {
        isRequired: true,
      });
      const { faults } = recording;
      const count = Object.keys(recording.outputs).length;
      if (count === 0) throw new AppError('conflict', `nothing is recorded: ${faults.join('; ')}`);
      const text = asRecording(recording);
      const asked = input.document === undefined ? textOption(input, 'output') : undefined;
      if (asked !== undefined && asked !== '-' && asked !== 'text') {
        await writeNewFile('-o', asked, text);
        print(context, input, {
          json: recording,
          text: `${asked}: ${count} outputs\n${faults.map(faultLine).join('')}`,
        });
        return;
      }
      for (const fault of faults) context.notify?.(faultLine(fault).trimEnd());
      print(context, input, { json: recording, text });
    },
  };
}

const faultLine = (fault: string): string => `not recorded: ${fault.replaceAll('\n', ' ')}\n`;

function asRecording({ system, outputs, reading, faults }: RecordingAnswer): string {
  const comment = [
    '# Made by baton. Put the address of your issue at source, what is read wrongly at shows,',
    reading === null
      ? '# and what would be right at reading.'
      : '# and right what is wrong in reading, which has what Baton reads today.',
    ...faults.map((fault) => `# ${faultLine(fault).trimEnd()}`),
  ];
  const document = { source: '', seen: 'hardware', system, shows: '', outputs, reading };
  return `${comment.join('\n')}\n${stringify(document, { blockQuote: 'literal', lineWidth: 0 })}`;
}
