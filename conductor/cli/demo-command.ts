import { type Command, numberOption, usageError } from '#conductor/cli/command.ts';
import { AppError } from '#shared/errors/app-error.ts';

const mostPort = 65_535;

export const demoCommand: Command = {
  words: 'demo',
  options: {
    nodes: { value: 'COUNT', meaning: 'simulated machines (default: 24)' },
    port: { value: 'PORT', meaning: 'of its conductor on 127.0.0.1 (default: the first free one from 6385 on)' },
  },
  meaning: 'a conductor with simulated machines and a site that is deployed onto them, until Ctrl-C',
  details:
    'It needs neither root nor hardware, and leaves nothing behind. The machines have Redfish BMCs and the real agent.',
  offline: true,
  run: async (context, input) => {
    if (context.runDemo === undefined) {
      throw new AppError(
        'not_supported',
        'this program has no conductor: run baton of a clone or of the Debian package',
      );
    }
    const nodes = numberOption(input, 'nodes');
    const port = numberOption(input, 'port');
    if (port !== undefined && port > mostPort) throw usageError(`--port: it must be ${mostPort} or less`);
    const args = Object.entries({ nodes, port }).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}=${value}`],
    );
    const exitCode = await context.runDemo(args);
    if (exitCode !== 0) throw new AppError('command_failed', `the demo exited with ${exitCode}`);
  },
};
