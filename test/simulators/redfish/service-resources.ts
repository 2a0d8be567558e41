import { baseRegistryMessages } from '#test/simulators/redfish/answers.ts';
import { biosRegistryPath } from '#test/simulators/redfish/bios.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';

/** Sessions, accounts, tasks and registries: what a service has whatever machine is behind it. */

export const sessionsPath = '/redfish/v1/SessionService/Sessions';
export const accountPath = '/redfish/v1/AccountService/Accounts/1';

export function collection(type: string, name: string, members: readonly string[]): Record<string, unknown> {
  return {
    '@odata.type': `#${type}.${type}`,
    Name: name,
    'Members@odata.count': members.length,
    Members: members.map((path) => ({ '@odata.id': path })),
  };
}

export const enabled = { State: 'Enabled', Health: 'OK' };

export function services({
  quirks,
  username,
  sessionIds,
}: {
  readonly quirks: Quirks;
  readonly username: string;
  readonly sessionIds: readonly string[];
}): Record<string, Record<string, unknown>> {
  return {
    ...(quirks.noSessions
      ? {}
      : {
          '/redfish/v1/SessionService': {
            '@odata.type': '#SessionService.v1_1_8.SessionService',
            Id: 'SessionService',
            Name: 'Session Service',
            ServiceEnabled: true,
            SessionTimeout: 1800,
            Status: enabled,
            Sessions: { '@odata.id': sessionsPath },
          },
          [sessionsPath]: collection(
            'SessionCollection',
            'Sessions',
            sessionIds.map((id) => `${sessionsPath}/${id}`),
          ),
        }),
    ...Object.fromEntries(
      sessionIds.map((id) => [
        `${sessionsPath}/${id}`,
        {
          '@odata.type': '#Session.v1_3_0.Session',
          Id: id,
          Name: `Session ${id}`,
          UserName: username,
        },
      ]),
    ),
    '/redfish/v1/AccountService': {
      '@odata.type': '#AccountService.v1_9_0.AccountService',
      Id: 'AccountService',
      Name: 'Account Service',
      ServiceEnabled: true,
      Status: enabled,
      Accounts: { '@odata.id': '/redfish/v1/AccountService/Accounts' },
    },
    '/redfish/v1/AccountService/Accounts': collection('ManagerAccountCollection', 'Accounts', [accountPath]),
    [accountPath]: {
      '@odata.type': '#ManagerAccount.v1_8_0.ManagerAccount',
      Id: '1',
      Name: 'Account 1',
      UserName: username,
      Password: null,
      RoleId: 'Administrator',
      AccountTypes: ['Redfish'],
      Enabled: true,
      Locked: false,
      Links: {},
    },
    '/redfish/v1/TaskService': {
      '@odata.type': '#TaskService.v1_2_0.TaskService',
      Id: 'TaskService',
      Name: 'Task Service',
      ServiceEnabled: true,
      Status: enabled,
      Tasks: { '@odata.id': '/redfish/v1/TaskService/Tasks' },
    },
    '/redfish/v1/TaskService/Tasks': collection('TaskCollection', 'Tasks', []),
  };
}

export function registries(quirks: Quirks): Record<string, Record<string, unknown>> {
  return {
    '/redfish/v1/Registries': collection('MessageRegistryFileCollection', 'Registries', [
      '/redfish/v1/Registries/Base.1.8',
      ...(quirks.noBios || quirks.noBiosAttributes || quirks.noAttributeRegistry ? [] : [biosRegistryPath]),
    ]),
    '/redfish/v1/Registries/Base.1.8': {
      '@odata.type': '#MessageRegistryFile.v1_1_3.MessageRegistryFile',
      Id: 'Base.1.8',
      Name: 'Base Message Registry File',
      Registry: 'Base.1.8',
      Languages: ['en'],
      Location: [{ Language: 'en', Uri: '/redfish/v1/Registries/Base.1.8.json' }],
    },
    '/redfish/v1/Registries/Base.1.8.json': {
      '@odata.type': '#MessageRegistry.v1_4_0.MessageRegistry',
      Id: 'Base.1.8.0',
      Name: 'Base Message Registry',
      Language: 'en',
      RegistryPrefix: 'Base',
      RegistryVersion: '1.8.0',
      OwningEntity: 'DMTF',
      Messages: baseRegistryMessages(),
    },
  };
}
