import { elementsAt, escapeXml, textAt, type XmlElement } from '#conductor/networks/switches/netconf/xml.ts';
import { type NetconfFace, rpcError } from '#test/simulators/switch/netconf-server.ts';
import type { ShellSession } from '#test/simulators/switch/switch-server.ts';

/** Junos over NETCONF: its operations as the lines of the same switch's command line. From Juniper's documents. */

export function junosFace(openSession: () => ShellSession): NetconfFace {
  const standard = ['candidate:1.0', 'confirmed-commit:1.0', 'validate:1.0'];
  return {
    // base:1.0 alone, as Junos has it unless it is told otherwise
    capabilities: [
      'urn:ietf:params:netconf:base:1.0',
      ...standard.map((each) => `urn:ietf:params:netconf:capability:${each}`),
    ],
    open: () => {
      const session = openSession();
      return {
        answer: (operation, text) => answer(session, operation, text.includes(' inherit="inherit"')),
        end: () => session.end?.(),
      };
    },
  };
}

function answer(session: ShellSession, operation: XmlElement, isInherited: boolean): string {
  const outputs = linesOf(operation, isInherited).map((line) => session.execute(line));
  const failed = outputs.find((output) => /^\s*(\^\n)?(error: |syntax error|unknown command)/.test(output));
  if (failed !== undefined) {
    const isLock = failed.includes('database locked');
    return rpcError(isLock ? 'lock-denied' : 'operation-failed', escapeXml(failed.replace(/^error: /, '')));
  }
  const warnings = outputs.filter((output) => output.startsWith('warning: statement'));
  const text = outputs.filter((output) => !output.startsWith('warning: ')).join('\n');
  if (operation.name === 'get-configuration' || operation.name.startsWith('get-')) {
    return `<output xmlns:junos="http://xml.juniper.net/junos/23.2R0/junos" junos:style="text">${escapeXml(text)}</output>`;
  }
  return warnings.map((warning) => rpcError('operation-failed', escapeXml(warning), 'warning')).join('') || '<ok/>';
}

function linesOf(operation: XmlElement, isInherited: boolean): readonly string[] {
  const { name } = operation;
  if (name === 'get-interface-information') return ['show interfaces terse'];
  if (name === 'get-commit-information') return ['show system commit'];
  if (name === 'lock') return ['configure exclusive'];
  if (name === 'unlock') return ['exit configuration-mode'];
  if (name === 'discard-changes') return ['rollback 0'];
  if (name === 'get-configuration') {
    if (isInherited && operation.children.length === 0)
      return ['show configuration | display inheritance no-comments | display set | match "."'];
    const part = elementsAt(operation, 'configuration')[0]?.children[0]?.name;
    const inherited = isInherited ? '| display inheritance no-comments ' : '';
    return [part === undefined ? 'show | compare' : `show configuration ${part} ${inherited}| display set`];
  }
  if (name === 'load-configuration') return (textAt(operation, 'configuration-set') ?? 'rollback 1').split('\n');
  if (name !== 'commit-configuration') return [name];
  const minutes = textAt(operation, 'confirm-timeout');
  return [minutes === undefined ? 'commit' : `commit confirmed ${minutes} comment ${textAt(operation, 'log')}`];
}
