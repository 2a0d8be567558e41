import { type RunningProcess, start } from '#shared/process/run.ts';
import type { EtcdCertificates } from '#test/support/etcd-certificates.ts';
import type { PeerNetwork } from '#test/support/etcd-peer-network.ts';
import { freePort } from '#test/support/free-port.ts';

export interface EtcdTestMember {
  readonly name: string;
  /** Where clients reach it. */
  readonly url: string;
  /** In its peer URL. */
  readonly address: string;
  readonly exited: Promise<number>;
  kill(): Promise<void>;
  /** It answers nobody, and forgets nothing. */
  pause(): void;
  resume(): void;
  /** No other member reaches it; clients do. */
  cut(): void;
  mend(): void;
}

export interface MemberOptions {
  readonly name: string;
  readonly address: string;
  readonly dataDirectory: string;
  readonly files: EtcdCertificates;
  readonly network: PeerNetwork;
  /** `n1=https://192.0.2.1:2380` of each. */
  readonly initialCluster: readonly string[];
  readonly isNew: boolean;
  readonly strictReconfigCheck: boolean;
  readonly heartbeatMs: number;
}

export function peerUrlAt(address: string): string {
  return `https://${address}:2380`;
}

/** One etcd with mutual TLS towards all. An election takes ten beats. */
export async function startEtcdMember(options: MemberOptions): Promise<EtcdTestMember> {
  const { name, address, files, network } = options;
  const url = `https://127.0.0.1:${await freePort()}`;
  const peerPort = await freePort();
  const proxy = await network.join(address, peerPort);
  const keys = (prefix: string): string[] => [
    `--${prefix}cert-file=${files.certFile}`,
    `--${prefix}key-file=${files.keyFile}`,
    `--${prefix}trusted-ca-file=${files.caFile}`,
    `--${prefix}client-cert-auth=true`,
  ];
  const etcd: RunningProcess = start(
    'setpriv',
    [
      // its starter may be killed, and nobody else would end it
      '--pdeathsig=KILL',
      'etcd',
      `--name=${name}`,
      `--data-dir=${options.dataDirectory}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=https://127.0.0.1:${peerPort}`,
      `--initial-advertise-peer-urls=${peerUrlAt(address)}`,
      `--initial-cluster=${options.initialCluster.join(',')}`,
      `--initial-cluster-state=${options.isNew ? 'new' : 'existing'}`,
      `--heartbeat-interval=${options.heartbeatMs}`,
      `--election-timeout=${10 * options.heartbeatMs}`,
      `--strict-reconfig-check=${options.strictReconfigCheck}`,
      '--logger=zap',
      '--log-level=error',
      ...keys(''),
      ...keys('peer-'),
    ],
    { env: { HTTPS_PROXY: proxy, NO_PROXY: '' } },
  );
  etcd.stdout.resume();
  etcd.stderr.resume();
  return {
    name,
    url,
    address,
    exited: etcd.exited,
    kill: async () => {
      etcd.kill('SIGKILL');
      await etcd.exited;
      network.mend(address); // for the next one there
    },
    pause: () => etcd.kill('SIGSTOP'),
    resume: () => etcd.kill('SIGCONT'),
    cut: () => network.cut(address),
    mend: () => network.mend(address),
  };
}
