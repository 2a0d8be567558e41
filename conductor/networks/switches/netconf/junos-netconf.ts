import type { OpenCommandLine } from '#conductor/networks/switches/command-line/command-line.ts';
import { openNetconf } from '#conductor/networks/switches/netconf/netconf-session.ts';
import { allText, escapeXml } from '#conductor/networks/switches/netconf/xml.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Junos takes the lines of its command line over NETCONF, too, and shows the same text: each line as its operations. A
 * confirmed commit counts minutes here, as there.
 */
const operations: readonly (readonly [RegExp, (match: RegExpExecArray) => readonly string[]])[] = [
  [/^show interfaces terse$/, () => ['<get-interface-information format="text"><terse/></get-interface-information>']],
  [/^show interfaces \| match /, () => ['<get-interface-information format="text"/>']],
  [
    /^show configuration ([\w-]+) (\| display inheritance no-comments )?\| display set$/,
    ([, part, inheritance]) => [
      `<get-configuration format="set"${inheritance ? ' inherit="inherit"' : ''} database="committed"><configuration><${part}/></configuration></get-configuration>`,
    ],
  ],
  // all of it: a part that this model lacks would be an error
  [
    /^show configuration \| display inheritance no-comments \| display set \| match /,
    () => ['<get-configuration format="set" inherit="inherit" database="committed"/>'],
  ],
  [/^show system commit$/, () => ['<get-commit-information format="text"/>']],
  [/^configure exclusive$/, () => ['<lock><target><candidate/></target></lock>']],
  [/^exit configuration-mode$/, () => ['<discard-changes/>', '<unlock><target><candidate/></target></unlock>']],
  [/^show \| compare$/, () => ['<get-configuration compare="rollback" rollback="0" format="text"/>']],
  [/^rollback (\d+)$/, ([, back]) => [`<load-configuration rollback="${back}"/>`]],
  [
    /^commit confirmed (\d+) comment (\S+)$/,
    ([, minutes, comment = '']) => [
      `<commit-configuration><confirmed/><confirm-timeout>${minutes}</confirm-timeout><log>${escapeXml(comment)}</log></commit-configuration>`,
    ],
  ],
  [/^commit$/, () => ['<commit-configuration/>']],
];

const isEdit = (line: string | undefined): boolean => /^(set|delete) /.test(line ?? '');

export const junosNetconf: OpenCommandLine = async (access, signal) => {
  const session = await openNetconf(access, signal);
  return {
    run: async (commands, stop) => {
      // the lines of a block are one request here in any case
      const lines = commands.flatMap((command) =>
        command.includes('\n') ? command.split('\n').slice(1, -1) : command,
      );
      const outputs: string[] = [];
      while (outputs.length < lines.length) {
        const line = lines[outputs.length] ?? '';
        const rest = lines.slice(outputs.length);
        const edits = rest.slice(0, [...rest.map(isEdit), false].indexOf(false));
        const sent = edits.length > 0 ? [loadOf(edits)] : operationsOf(line);
        let output = '';
        for (const operation of sent) output = allText(await session.request(operation, stop));
        outputs.push(output, ...edits.slice(1).map(() => ''));
      }
      return outputs;
    },
    isClosed: () => session.isClosed(),
    close: () => session.close(),
  };
};

/** All lines in one request. */
function loadOf(edits: readonly string[]): string {
  const text = escapeXml(edits.join('\n'));
  return `<load-configuration action="set" format="text"><configuration-set>${text}</configuration-set></load-configuration>`;
}

function operationsOf(line: string): readonly string[] {
  for (const [form, make] of operations) {
    const match = form.exec(line);
    if (match) return make(match);
  }
  throw new AppError('internal', `Junos has no operation for ${line}`);
}
