// Asks Java's spymemcached where keys live: `java Spymemcached MODE` or `java Spymemcached MODE version`; clients.py describes input and output.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import net.spy.memcached.ConnectionFactory;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.KetamaConnectionFactory;
import net.spy.memcached.MemcachedClient;

public class Spymemcached {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
        java.util.logging.LogManager.getLogManager().reset();
        ConnectionFactory factory = arguments[0].equals("ketama") ? new KetamaConnectionFactory() : new DefaultConnectionFactory();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<InetSocketAddress> servers = new ArrayList<>();
        for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
            int colon = line.lastIndexOf(':');
            servers.add(new InetSocketAddress(line.substring(0, colon), Integer.parseInt(line.substring(colon + 1))));
        }
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        MemcachedClient client = new MemcachedClient(factory, servers);
        for (String key = in.readLine(); key != null; key = in.readLine()) {
            InetSocketAddress server = (InetSocketAddress) client.getNodeLocator().getPrimary(key).getSocketAddress();
            out.print(server.getAddress().getHostAddress() + ":" + server.getPort() + "\n");
        }
        out.flush();
        System.exit(0); // its threads would keep the process alive
    }
}
