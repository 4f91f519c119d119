//! MCP on standard input and output: one client, and the session ends with the input.

use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter};
use rmcp::transport::{Transport, stdio_pipes};
use rmcp::{RoleServer, ServiceExt};

use crate::error::Failure;
use crate::limits;
use crate::server::Server;
use crate::session::Session;
use crate::signals::Interrupts;

/// Serves a session until its input ends or a signal comes. Gives the exit code.
pub(crate) async fn serve(session: Session) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::new()?;
    let server = Server::new(session);
    let transport = EndingTransport::new(server.clone());
    let serving = async {
        match server.clone().serve(transport).await {
            Ok(running) => running
                .waiting()
                .await
                .map(drop)
                .map_err(|error| error.to_string()),
            // The client went away before it said anything: nothing to serve, nothing wrong.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    };
    let code = tokio::select! {
        served = serving => served.map(|()| 0).map_err(Failure::Protocol),
        signal = interrupts.next() => Ok(128 + signal),
    };
    server.session().shut_down().await;
    code
}

/// The lines of standard input and output, which ends the session at once when the input ends: rmcp itself would wait for
/// the calls that are under way.
struct EndingTransport {
    lines: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    server: Server,
}

impl EndingTransport {
    fn new(server: Server) -> Self {
        let (read, write) = stdio_pipes();
        let lines =
            AsyncRwTransport::new_server(read, write).with_max_line_length(limits::LINE_BYTES);
        Self { lines, server }
    }
}

impl Transport<RoleServer> for EndingTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.lines.receive().await;
        if message.is_none() {
            self.server.session().end();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await
    }
}
