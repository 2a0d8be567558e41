import type { Pool } from 'pg';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { openPool, type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { openSilenceableWay, type SilenceableWay } from '#test/support/silenceable-way.ts';

export const deployedDisk = ['prepare_disks', 'write_image demo.raw', 'tune_image'];

/** Two conductors on one PostgreSQL, the first by a way that can fall silent, and machines that ask the second. */
export interface ConductorPair {
  readonly server: PostgresServer;
  readonly first: ConductorProcess;
  readonly second: ConductorProcess;
  /** From the first one to the database. */
  readonly way: SilenceableWay;
  readonly database: Pool;
  /** Operator of the second. */
  readonly operator: Operator;
  readonly machines: readonly SimulatedNode[];
  readonly names: readonly string[];
  /** Asks the first one for deploys, and pauses it at a moment when it is at nodes; answers them. */
  pauseAtWork(): Promise<string[]>;
  close(): Promise<void>;
}

/** A paused process would not end. */
async function wake(conductor: ConductorProcess): Promise<void> {
  try {
    process.kill(conductor.pid(), 'SIGCONT');
  } catch {
    // it does not run
  }
}

export async function startConductorPair(options: {
  readonly machines: number;
  readonly stepMs: number;
  readonly durable?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
}): Promise<ConductorPair> {
  await using opening = new AsyncDisposableStack();
  const server = await startPostgresql({ durable: options.durable ?? false });
  opening.defer(() => server.close());
  const database = openPool({ connectionString: server.url, application_name: 'test' });
  opening.defer(() => database.end());
  const way = await openSilenceableWay(server.url);
  opening.defer(() => way.close());
  const start = async (name: string, url: string): Promise<ConductorProcess> => {
    const conductor = await prepareConductor({ ...options.settings, DATABASE_URL: url, BATON_CONDUCTOR_NAME: name });
    opening.defer(() => conductor.close());
    opening.defer(() => wake(conductor));
    await conductor.start();
    return conductor;
  };
  const first = await start('first', way.url);
  // it waits for answers as it ends
  opening.defer(() => way.plugIn());
  const second = await start('second', server.url);
  const operator = createOperator(second.url, { retries: 5 });
  const machines = await Promise.all(
    Array.from({ length: options.machines }, (_, index) =>
      startSimulatedNode({
        conductorUrl: () => second.url,
        mac: `52:54:00:00:0d:${index.toString(16).padStart(2, '0')}`,
        stepMs: options.stepMs,
      }),
    ),
  );
  opening.defer(async () => void (await Promise.all(machines.map((machine) => machine.close()))));
  const names = await Promise.all(
    machines.map((machine, index) => enrolSimulatedNode(operator, machine, `node-${index}`)),
  );
  const heldByFirst = async (): Promise<string[]> => {
    const { rows } = await database.query<{ name: string }>(
      "select name from node_leases join nodes on uuid = node_uuid where holder = 'first' and expires_at > now()",
    );
    return rows.map(({ name }) => name);
  };
  const opened = opening.move();
  return {
    server,
    first,
    second,
    way,
    database,
    operator,
    machines,
    names,
    pauseAtWork: async () => {
      const viaFirst = createOperator(first.url, { retries: 5 });
      await Promise.all(names.map((name) => viaFirst.provision(name, 'active')));
      const pause = async (): Promise<string[] | undefined> => {
        process.kill(first.pid(), 'SIGSTOP');
        const held = await heldByFirst();
        if (held.length > 0) return held;
        process.kill(first.pid(), 'SIGCONT');
        return undefined;
      };
      return waitUntil('the first conductor to be paused at work', pause, { everyMs: 5 });
    },
    close: () => opened.disposeAsync(),
  };
}
