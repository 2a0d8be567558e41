import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Everything that a section's commands need around them, and that ends after them. */
export interface GuideStage {
  /** Working directory of the commands. */
  readonly directory: string;
  /** Environment of the commands. */
  readonly environment: Record<string, string>;
  /** Words that a reader replaces by their own: the guide's word, and the test's. */
  readonly replacements: Map<string, string>;
  /** Starts the conductor of the commands. */
  conductor(settings?: Readonly<Record<string, string>>): Promise<StagedConductor>;
  /** Starts a machine that this stage's conductor will have. */
  machine(options: Omit<Parameters<typeof startSimulatedNode>[0], 'conductorUrl'>): Promise<SimulatedNode>;
  /** @returns path of the file */
  file(name: string, text: string): Promise<string>;
  atEnd(close: () => Promise<unknown>): void;
}

export interface StagedConductor extends ConductorInProcess {
  readonly operator: Operator;
}

/** Opens an empty stage. @returns it, and what ends all that was started on it */
export function openGuideStage(directory: string): { readonly stage: GuideStage; readonly close: () => Promise<void> } {
  const ends: (() => Promise<unknown>)[] = [];
  const environment: Record<string, string> = {};
  const stage: GuideStage = {
    directory,
    environment,
    replacements: new Map(),
    conductor: async (settings = {}) => {
      const conductor = await startConductorInProcess({ log: silentLog, settings });
      ends.push(() => conductor.close());
      environment['BATON_URL'] = conductor.url;
      return { ...conductor, operator: createOperator(conductor.url) };
    },
    machine: async (options) => {
      const conductorUrl = () => environment['BATON_URL'] ?? '';
      const machine = await startSimulatedNode({ ...options, conductorUrl });
      ends.push(() => machine.close());
      return machine;
    },
    file: async (name, text) => {
      const path = join(directory, name);
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
    atEnd: (close) => void ends.push(close),
  };
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  return { stage, close };
}
