import type { OpenCommandLine } from '#conductor/networks/switches/command-line/command-line.ts';
import { oneByOne } from '#conductor/networks/switches/command-line/command-line.ts';
import { openNetconf } from '#conductor/networks/switches/netconf/netconf-session.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Commands are operations in XML, outputs the replies: for rows that parse them. */

const needed = ['candidate:1.0', 'confirmed-commit:1.1'];
const of = (capability: string): string => `urn:ietf:params:netconf:capability:${capability}`;

/** A candidate, and a confirmed commit that another session confirms. */
export const netconf: OpenCommandLine = async (access, signal) => {
  const session = await openNetconf(access, signal);
  const lacking = needed.filter((each) => !session.capabilities.includes(of(each)));
  if (lacking.length > 0) {
    session.close();
    throw new AppError(
      'not_supported',
      `switch ${access.endpoint} lacks NETCONF's ${lacking.join(', ')}, without which a change that cuts Baton off could not undo itself`,
    );
  }
  const hasStartup = session.capabilities.includes(of('startup:1.0'));
  return {
    run: oneByOne(async (operation, stop) => {
      // what is committed is saved, where there is nothing else to save to
      if (operation.includes('<startup/>') && !hasStartup) return '';
      return JSON.stringify(await session.request(operation, stop));
    }),
    isClosed: () => session.isClosed(),
    close: () => session.close(),
  };
};
