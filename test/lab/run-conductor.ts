import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Dispatcher, request } from 'undici';
import { AppError } from '#shared/errors/app-error.ts';
import { type LabProcess, startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { labAddresses } from '#test/lab/network.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { conductorProgram } from '#test/support/programs.ts';
import { testKeyFile } from '#test/support/test-secrets.ts';

const conductorUrl = `http://${labAddresses.provisioning.address}:6385`;

export interface ConductorOptions {
  readonly networksFile: string;
  readonly ramdiskDirectory?: string;
  readonly imagesDirectory?: string;
  /** PostgreSQL in place of a private server. */
  readonly databaseUrl?: string;
  readonly name?: string;
  /** More settings of the conductor, such as `BATON_METRICS`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface ConductorProcess {
  readonly url: string;
  readonly logFile: string;
  isRunning(): boolean;
  /** SIGTERM, as an operator's service manager does it. */
  stop(): Promise<void>;
  /** SIGKILL: what a crash or a power cut leaves. */
  kill(): Promise<void>;
  /** Starts it again on the same data; waits until it answers. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
}

/** Starts the conductor on the provisioning network and waits until `GET /` answers. */
export async function startConductor(
  lab: LabDirectory,
  gate: Dispatcher,
  options: ConductorOptions,
): Promise<ConductorProcess> {
  const name = options.name ?? 'conductor';
  // with its PostgreSQL's socket, and open to the user as whom that runs; the directory of a clone may be neither
  const dataDirectory = join(lab.sockets, `${name}-data`);
  mkdirSync(dataDirectory, { recursive: true });
  const keyFile = join(lab.path, 'secret.key');
  writeFileSync(keyFile, testKeyFile, { mode: 0o600 });
  const environment = {
    BATON_HOST: labAddresses.provisioning.address,
    BATON_PORT: '6385',
    BATON_PUBLIC_URL: conductorUrl,
    // nobody else is in the laboratory's namespace
    BATON_ALLOW_UNAUTHENTICATED: 'true',
    BATON_DATA_DIR: dataDirectory,
    BATON_RAMDISK_DIR: resolve(options.ramdiskDirectory ?? 'build/ramdisk'),
    BATON_IMAGES_DIR: resolve(options.imagesDirectory ?? 'build/os-image'),
    BATON_NETWORKS_FILE: options.networksFile,
    BATON_CONDUCTOR_NAME: name,
    BATON_LOG_LEVEL: 'debug',
    // a kernel that looks for the timer's interrupts while the host is busy may miss them all, and panics
    BATON_KERNEL_PARAMS: 'no_timer_check',
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl, BATON_SECRET_KEY_FILE: keyFile }),
  };
  const start = async (settings?: Readonly<Record<string, string>>): Promise<LabProcess> => {
    const started = startLabProcess(conductorProgram, [], {
      namespace: lab.namespace,
      directory: lab.path,
      name,
      env: { ...environment, ...options.settings, ...settings },
    });
    await waitUntil(`the conductor at ${conductorUrl}`, async () => {
      if (!started.isRunning()) return 'ended';
      const response = await request(`${conductorUrl}/`, { dispatcher: gate });
      await response.body.dump();
      return response.statusCode === 200 ? 'answers' : undefined;
    }).then((outcome) => {
      if (outcome === 'answers') return;
      throw new AppError('command_failed', `the conductor ended at its start, see ${started.logFile}`);
    });
    return started;
  };
  let running = await start();
  return {
    url: conductorUrl,
    logFile: running.logFile,
    isRunning: () => running.isRunning(),
    stop: () => running.stop(),
    kill: () => running.stop('SIGKILL'),
    restart: async (settings) => {
      if (running.isRunning()) await running.stop();
      running = await start(settings);
    },
  };
}
