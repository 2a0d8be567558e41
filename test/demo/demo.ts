import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { openDemo } from '#test/demo/open-demo.ts';

/** `baton demo`: a conductor, simulated machines, and a site that is deployed onto them, until Ctrl-C. */

const defaultPort = 6385;

interface Choice {
  readonly nodes: number;
  readonly port: number;
}

// of a terminal that is closed, or `| head`: it must not end the demo before it has deleted what it made
process.stderr.on('error', () => undefined);

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

async function readChoice(): Promise<Choice> {
  const { values } = parseArgs({ options: { nodes: { type: 'string' }, port: { type: 'string' } } });
  const port = values.port === undefined ? await freePortFrom(defaultPort) : Number(values.port);
  if (values.port !== undefined && (await isTaken(port))) {
    throw new AppError('conflict', `--port: ${port} is in use; without --port a free one is taken`);
  }
  return { nodes: Number(values.nodes ?? 24), port };
}

/** Somebody may have a conductor already. */
async function freePortFrom(port: number): Promise<number> {
  return (await isTaken(port)) ? freePortFrom(port + 1) : port;
}

function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function runDemo({ nodes, port }: Choice, interrupted: Promise<unknown>): Promise<void> {
  const began = performance.now();
  const demo = await openDemo({ nodes, port, say });
  const { conductor, rack, action } = demo;
  try {
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const faults = rack.faults.map((line) => `\n  ${line}`).join('');
    say(`\nready after ${seconds} s: ${nodes} nodes, which a site is being deployed onto, group by group${faults}`);
    const baton = `BATON_URL=${conductor.url} ${process.env['npm_command'] === 'exec' ? 'npx baton' : 'baton'}`;
    say(`\nboard: ${conductor.url}/\n       ${baton} status`);
    say(
      `       ${baton} action show ${action}\n       ${baton} network diff ${rack.first}\nlog:   ${conductor.logFile}`,
    );
    say('\nCtrl-C ends it and deletes all of it');
    await interrupted;
  } finally {
    say('ending');
    await demo.close();
  }
}

const interrupted = new Promise((resolve) => {
  // Ctrl-C comes twice, from the terminal and from `baton`; the second must not end it while it cleans up
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, resolve);
});
readChoice()
  .then((choice) => runDemo(choice, interrupted))
  .catch((error: unknown) => {
    say(`baton demo: ${errorChain(error)}`);
    process.exitCode = 1;
  });
