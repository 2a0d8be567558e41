import type { Command, CommandContext, DatabaseTool } from '#conductor/cli/command.ts';
import { print } from '#conductor/cli/print.ts';
import { AppError } from '#shared/errors/app-error.ts';

async function requireTool({ databaseTool }: CommandContext): Promise<DatabaseTool> {
  if (databaseTool !== undefined) return databaseTool();
  throw new AppError('not_supported', 'this program speaks to conductors only: run baton of the conductor on its host');
}

const settings =
  'It works on the database itself, as DATABASE_URL or BATON_DATA_DIR says: run it on the host and with the settings of\n' +
  'the conductor. The package takes them from /etc/baton/baton.env.';

export const databaseCommands: readonly Command[] = [
  {
    words: 'database dump',
    operands: ['FILE'],
    meaning: 'back up the database into a new file, also while conductors work',
    details: `${settings} Back up the key file too, apart from it: passwords in the dump are sealed with it.`,
    offline: true,
    run: async (context, input) => {
      const [file = ''] = input.operands;
      const { keyFile } = await (await requireTool(context)).dump(file);
      const text = `${file} has the database; it is of use only together with ${keyFile}\n`;
      print(context, input, { json: { file, key_file: keyFile }, text });
    },
  },
  {
    words: 'database restore',
    operands: ['FILE'],
    meaning: 'fill an empty database with a dump',
    details: `${settings} No conductor may run. Put the key file in its place before you start one.`,
    offline: true,
    run: async (context, input) => {
      const [file = ''] = input.operands;
      await (await requireTool(context)).restore(file);
      print(context, input, { json: { file }, text: `the database is restored from ${file}: start the conductor\n` });
    },
  },
];
