import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { startDemoConductor } from '#test/demo/conductor.ts';
import { startDemoRack } from '#test/demo/rack.ts';
import { type DemoSwitches, startDemoSwitches, switchCredential } from '#test/demo/switches.ts';
import { bmcCredential } from '#test/support/simulated-site.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

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
  say('starting a conductor with a database of its own');
  const switches = await startDemoSwitches(nodes);
  try {
    await runRack({ nodes, port }, switches, began, interrupted);
  } finally {
    await switches.close(); // open ones would keep the process
  }
}

async function runRack(
  { nodes, port }: Choice,
  switches: DemoSwitches,
  began: number,
  interrupted: Promise<unknown>,
): Promise<void> {
  const conductor = await startDemoConductor(port, switches.networksFile);
  try {
    const { names } = switches;
    say(`starting ${nodes} simulated machines at ${names.length === 1 ? 'a switch' : `${names.length} switches`}`);
    const rack = await startDemoRack(nodes, { conductorUrl: conductor.url, portOf: switches.portOf });
    try {
      const operator = createSiteOperator(conductor.url);
      for (const { name, account } of [bmcCredential, switchCredential]) await operator.setCredential(name, account);
      await operator.commit('demo', rack.documents);
      const id = await operator.createAction('deploy_site');
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      say(
        `\nready after ${seconds} s; the site is being deployed group by group${rack.faults.map((line) => `\n  ${line}`).join('')}`,
      );
      const baton = `BATON_URL=${conductor.url} ${process.env['npm_command'] === 'exec' ? 'npx baton' : 'baton'}`;
      say(`\nboard: ${conductor.url}/\n       ${baton} status`);
      say(`       ${baton} action show ${id}\n       ${baton} network diff ${rack.first}\nlog:   ${conductor.logFile}`);
      say('\nCtrl-C ends it and deletes all of it');
      await interrupted;
    } finally {
      say('ending');
      await rack.close();
    }
  } finally {
    await conductor.close();
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
